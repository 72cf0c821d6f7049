"use strict";
// The page is complete without this. With it, whatever has a data-key can be pointed at and selected, lists can be
// sorted and filtered, and sliders choose among rows. Text is only ever set as text.
(function () {
  const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
  const make = (name, text, kind) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  };

  // Everything by what it stands for, and rows by their names.
  const things = new Map();
  const rows = new Map();
  function collect() {
    things.clear();
    rows.clear();
    for (const element of all("[data-key]")) {
      const key = element.dataset.key;
      if (!things.has(key)) things.set(key, []);
      things.get(key).push(element);
    }
    for (const row of all("tr[data-row]")) if (!rows.has(row.dataset.row)) rows.set(row.dataset.row, row);
    for (const row of all("tr[data-key]")) row.tabIndex = 0;
  }

  // What a row says: its head and cells, as pairs.
  function cells(row) {
    const heads = all("thead th", row.closest("table"));
    return Array.from(row.cells, (cell, i) => [heads[i] ? heads[i].dataset.name || heads[i].textContent : "", cell.textContent]);
  }
  function title(row) {
    const [head, cell] = cells(row)[0];
    return head + " " + cell;
  }

  // Beside the pointer: what the nearest mark stands for.
  const tip = make("div", undefined, "tip");
  tip.hidden = true;
  document.body.append(tip);
  function show(row, x, y) {
    const list = make("dl");
    for (const [head, cell] of cells(row).slice(1, 25)) {
      if (cell === "") continue;
      const pair = make("div");
      pair.append(make("dt", head), make("dd", cell));
      list.append(pair);
    }
    tip.replaceChildren(make("b", title(row)), list);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const right = x + 14 + width > window.innerWidth;
    tip.style.left = Math.max(4, right ? x - 14 - width : x + 14) + "px";
    tip.style.top = Math.max(4, Math.min(y + 14, window.innerHeight - height - 4)) + "px";
  }

  // The mark at the pointer: a line that is hit, or the nearest point within reach.
  const REACH = 14;
  function markAt(event) {
    const hit = event.target.closest ? event.target.closest("svg [data-row]") : null;
    const picture = event.target.closest ? event.target.closest("figure svg") : null;
    if (!picture) return null;
    const outer = picture.ownerSVGElement ? outermost(picture) : picture;
    const matrix = outer.getScreenCTM();
    let [best, least] = [null, REACH];
    for (const mark of all("[data-at]", outer)) {
      const [x, y] = mark.dataset.at.split(" ").map(Number);
      const away = Math.hypot(matrix.a * x + matrix.e - event.clientX, matrix.d * y + matrix.f - event.clientY);
      if (away < least) [best, least] = [mark, away];
    }
    return best || hit;
  }
  function outermost(svg) {
    let outer = svg;
    while (outer.ownerSVGElement) outer = outer.ownerSVGElement;
    return outer;
  }

  let near = [];
  function point(key) {
    for (const element of near) element.classList.remove("near");
    near = key === null ? [] : things.get(key) || [];
    for (const element of near) element.classList.add("near");
  }
  document.addEventListener("pointermove", (event) => {
    const mark = markAt(event);
    const row = mark ? rows.get(mark.dataset.row) : null;
    if (row) show(row, event.clientX, event.clientY);
    else tip.hidden = true;
    const over = mark || (event.target.closest ? event.target.closest("tr[data-key]") : null);
    point(over ? over.dataset.key : null);
  });
  document.addEventListener("pointerleave", () => { tip.hidden = true; point(null); });

  // Selection: the same thing everywhere.
  const chosen = new Set();
  const bar = make("div", undefined, "selection");
  bar.hidden = true;
  const said = make("span");
  const clear = make("button", "Clear");
  clear.type = "button";
  clear.addEventListener("click", () => select([]));
  bar.append(said, clear);
  document.body.append(bar);
  function select(keys, quietly) {
    for (const key of chosen) for (const element of things.get(key) || []) element.classList.remove("on");
    chosen.clear();
    for (const key of keys) chosen.add(key);
    document.body.classList.toggle("choosing", chosen.size > 0);
    const names = [];
    for (const key of chosen) {
      for (const element of things.get(key) || []) element.classList.add("on");
      const row = (things.get(key) || []).find((element) => element.tagName === "TR");
      if (row) names.push(title(row));
    }
    bar.hidden = chosen.size === 0;
    said.textContent = names.slice(0, 4).join(", ") + (names.length > 4 ? " and " + (names.length - 4) + " more" : "") + " selected";
    if (!quietly) reveal();
  }
  // Scrolls lists, not the page.
  function reveal() {
    for (const box of all(".list")) {
      const row = box.querySelector("tr.on");
      if (row && !row.hidden) box.scrollTop = row.offsetTop - box.clientHeight / 2;
    }
  }
  function toggle(key, add) {
    const keys = add ? new Set(chosen) : new Set();
    const was = chosen.has(key) && (add || chosen.size === 1);
    if (was) keys.delete(key);
    else keys.add(key);
    select(was && !add ? [] : keys);
  }
  document.addEventListener("click", (event) => {
    if (event.target.closest("button, input, a, label, .selection")) return;
    const thing = markAt(event) || event.target.closest("tr[data-key]");
    if (thing) toggle(thing.dataset.key, event.ctrlKey || event.metaKey || event.shiftKey);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") select([]);
    const row = event.target.closest ? event.target.closest("tr[data-key]") : null;
    if (row && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      toggle(row.dataset.key, event.ctrlKey || event.metaKey || event.shiftKey);
    }
  });

  // Lists: a click on a head sorts, words filter.
  function number(text) {
    const found = /-?\d+(\.\d+)?(e-?\d+)?/.exec(text);
    return found && found.index <= 2 ? Number(found[0]) : NaN;
  }
  function compare(a, b) {
    if (a === "" || b === "") return (a === "") - (b === "");
    const [x, y] = [number(a), number(b)];
    return isNaN(x) || isNaN(y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
  }
  function prepareList(box) {
    const body = box.querySelector("tbody");
    const listed = Array.from(body.rows);
    all("thead th", box).forEach((head, column) => {
      head.dataset.name = head.textContent;
      const button = make("button", head.textContent);
      button.type = "button";
      button.title = "Sort by this column";
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const falls = head.getAttribute("aria-sort") === "ascending";
        for (const other of all("thead th", box)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falls ? "descending" : "ascending");
        const text = (row) => (row.cells[column] ? row.cells[column].textContent : "");
        const keyed = listed.map((row) => [text(row), row]);
        // What is empty stays last.
        keyed.sort(([a], [b]) => (falls && a !== "" && b !== "" ? compare(b, a) : compare(a, b)));
        body.append(...keyed.map(([, row]) => row));
      });
    });
    const tools = make("div", undefined, "tools");
    const label = make("label", "Filter ");
    const field = make("input");
    field.type = "search";
    field.placeholder = "words in a row, such as failed";
    const shown = make("span", listed.length + " rows");
    label.append(field);
    tools.append(label, shown);
    box.before(tools);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
      let count = 0;
      for (const row of listed) {
        const text = Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        count += !row.hidden;
      }
      shown.textContent = words.length === 0 ? listed.length + " rows" : count + " of " + listed.length + " rows";
    });
  }

  // Sliders of preference: the row with the largest weighted sum of its shares.
  function prepareChooser(chooser) {
    const choices = all("tr[data-shares]", chooser.closest("section"));
    if (choices.length === 0) return;
    const sliders = all("input", chooser);
    const outputs = all("output", chooser);
    const answer = chooser.querySelector(".choice");
    const choose = (quietly) => {
      const weights = sliders.map((slider) => Number(slider.value));
      const sum = weights.reduce((total, weight) => total + weight, 0);
      outputs.forEach((output, i) => { output.textContent = sum > 0 ? Math.round((100 * weights[i]) / sum) + " %" : "0 %"; });
      let [best, most] = [null, -Infinity];
      for (const row of choices) {
        const shares = row.dataset.shares.split(" ").map(Number);
        const worth = shares.reduce((total, share, i) => total + share * weights[i], 0);
        if (worth > most) [best, most] = [row, worth];
      }
      const pairs = cells(best).slice(1).filter(([, cell]) => cell !== "");
      answer.replaceChildren(make("b", "Best: " + title(best)), ": " + pairs.map(([head, cell]) => head + " " + cell).join(", "));
      if (!quietly) select([best.dataset.key], true);
    };
    for (const slider of sliders) slider.addEventListener("input", () => choose(false));
    chooser.hidden = false;
    choose(true);
  }

  // Whatever is new on the page, also after parts of it were replaced: then somebody says so.
  const prepared = new WeakSet();
  function prepare() {
    collect();
    const fresh = (selector) => all(selector).filter((element) => !prepared.has(element));
    for (const [selector, work] of [[".list", prepareList], [".chooser", prepareChooser]]) {
      for (const element of fresh(selector)) {
        prepared.add(element);
        work(element);
      }
    }
    select(Array.from(chosen).filter((key) => things.has(key)), true);
  }
  document.addEventListener("unyoke:changed", prepare);
  prepare();
})();
