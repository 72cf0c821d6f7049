// Replaces the parts of the page that differ in a newer one, and leaves the others alone: what somebody is typing stays.
//
// An element with data-parts holds parts, elements with data-part. A part is compared by the text in which the server
// sent it, since scripts change what is on the page.

const sent = new WeakMap();

function remember(root) {
  for (const part of root.querySelectorAll("[data-part]")) {
    if (!part.hasAttribute("data-parts")) sent.set(part, part.outerHTML);
  }
}

const children = (parent) => Array.from(parent.children).filter((child) => child.dataset.part !== undefined);

// Takes what the reader has done over from an element to the one that replaces it.
function carryOver(old, fresh) {
  const find = (element) => (element.id ? fresh.querySelector("#" + CSS.escape(element.id)) : null);
  for (const field of old.querySelectorAll("input[id], select[id], textarea[id]")) {
    const other = find(field);
    const begun = field.tagName === "SELECT" ? field.dataset.touched !== undefined : field.value !== field.defaultValue;
    if (other && begun && field.type !== "hidden") {
      other.value = field.value;
      other.dataset.touched = "";
    }
  }
  for (const details of old.querySelectorAll("details[id]")) {
    const other = find(details);
    if (other) other.open = details.open;
  }
  for (const message of old.querySelectorAll("form[data-action] .error:not([hidden])")) {
    const form = message.closest("form");
    const name = form.dataset.action;
    const other = Array.from(fresh.querySelectorAll("form[data-action]")).find((one) => one.dataset.action === name);
    if (other) {
      const place = other.querySelector(".error");
      place.textContent = message.textContent;
      place.hidden = false;
    }
  }
}

function replace(old, fresh) {
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const scrolls = Array.from(old.querySelectorAll(".scroll, .list, pre"), (box) => [box.scrollLeft, box.scrollTop]);
  carryOver(old, fresh);
  old.replaceWith(fresh);
  Array.from(fresh.querySelectorAll(".scroll, .list, pre")).forEach((box, i) => {
    if (scrolls[i]) [box.scrollLeft, box.scrollTop] = scrolls[i];
  });
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

// Makes the parts below `old` those below `fresh`. Tells whether anything has changed.
function sync(old, fresh) {
  let changed = false;
  const present = new Map(children(old).map((child) => [child.dataset.part, child]));
  let before = null;
  for (const part of children(fresh)) {
    const name = part.dataset.part;
    const known = present.get(name);
    present.delete(name);
    let shown = known;
    if (known && known.hasAttribute("data-parts") && part.hasAttribute("data-parts")) {
      changed = sync(known, part) || changed;
    } else if (!known) {
      shown = adopt(part);
      changed = true;
    } else if (sent.get(known) !== part.outerHTML) {
      shown = adopt(part);
      replace(known, shown);
      changed = true;
    }
    const place = before ? before.nextElementSibling : old.firstElementChild;
    if (shown !== place) old.insertBefore(shown, place);
    before = shown;
  }
  for (const gone of present.values()) {
    gone.remove();
    changed = true;
  }
  return changed;
}

function adopt(part) {
  const text = part.outerHTML;
  const own = document.importNode(part, true);
  if (!own.hasAttribute("data-parts")) sent.set(own, text);
  remember(own);
  return own;
}

// The page as it was sent. To be called before anything else changes it.
export function begin() {
  remember(document);
}

// Takes over what is new in a page. Whoever adds to the page listens for "unyoke:changed".
export function update(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  let changed = false;
  for (const box of ["stand", "notices", "content"]) {
    const [old, other] = [document.getElementById(box), fresh.getElementById(box)];
    if (old && other) changed = sync(old, other) || changed;
  }
  for (const name of ["position", "now"]) {
    if (fresh.body.dataset[name] !== undefined) document.body.dataset[name] = fresh.body.dataset[name];
  }
  if (changed) document.dispatchEvent(new Event("unyoke:changed"));
  return fresh.body.dataset.study !== undefined;
}
