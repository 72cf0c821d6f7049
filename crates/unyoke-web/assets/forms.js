// Forms with data-action become entries. Names of fields say where their values belong: "values.hardness".

import { act } from "./outbox.js";
import { ask } from "./person.js";
import { refresh } from "./stream.js";
import { short } from "./words.js";

// What a field holds, as the server wants it; undefined for nothing.
function read(field) {
  const text = field.value.trim();
  const kind = field.dataset.kind;
  if (kind === "number-or-null") return text === "" ? null : Number(text);
  if (text === "") return undefined;
  if (kind === "number" || kind === "integer") return Number(text);
  if (kind === "time") return Math.floor(new Date(text).getTime() / 1000);
  if (kind === "json") return JSON.parse(text);
  return text;
}

function gather(form) {
  const body = {};
  for (const field of form.querySelectorAll("[name][data-kind]")) {
    const value = read(field);
    if (value === undefined) continue;
    const dot = field.name.indexOf(".");
    if (dot < 0) body[field.name] = value;
    else (body[field.name.slice(0, dot)] ??= {})[field.name.slice(dot + 1)] = value;
  }
  // Standard errors stand beside their values.
  for (const [output, sd] of Object.entries(body.sd || {})) {
    if (body.values?.[output] !== undefined) body.values[output] = { value: body.values[output], sd };
  }
  delete body.sd;
  if (body.measurements !== undefined) body.measurements = [body.measurements];
  return body;
}

// A value that is ten times too large is mostly a slip of the finger: asked about once.
function doubtful(form) {
  for (const field of form.querySelectorAll("input[data-low]")) {
    const [value, low, high] = [Number(field.value), Number(field.dataset.low), Number(field.dataset.high)];
    const reach = 2 * Math.max(high - low, 1e-9 * Math.abs(high));
    const isFar = field.value !== "" && (value < low - reach || value > high + reach);
    if (isFar && field.dataset.sure !== field.value) {
      field.dataset.sure = field.value;
      return "Is " + short(value) + " right? All values so far are from " + short(low) + " to " + short(high) + ". Press again to save it.";
    }
  }
  return null;
}

function complain(form, words) {
  const place = form.querySelector(".error");
  place.textContent = words;
  place.hidden = words === "";
}

async function submit(form) {
  const action = form.dataset.action;
  const body = gather(form);
  complain(form, "");
  if (action === "tell" && !body.values) return complain(form, "Enter a value.");
  const doubt = doubtful(form);
  if (doubt) return complain(form, doubt);
  const by = await ask();
  if (by === null) return complain(form, "Your name is needed: it stands beside what you enter.");
  form.setAttribute("aria-busy", "true");
  try {
    await act(action, body, by);
    const then = form.querySelector("[name=then]");
    if (then) return location.assign(then.value);
    clear(form);
    await refresh();
  } catch (error) {
    complain(form, error.message);
  } finally {
    form.removeAttribute("aria-busy");
  }
}

// Done: what was entered must not be carried over to the form that comes in its place.
function clear(form) {
  for (const field of form.querySelectorAll("input, select")) delete field.dataset.touched;
  form.reset();
  const details = form.closest("details.folded");
  if (details) details.open = false;
}

export function begin() {
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-action]");
    if (!form) return;
    event.preventDefault();
    if (form.getAttribute("aria-busy") !== "true") submit(form);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-kind]")) event.target.dataset.touched = "";
    const form = event.target.closest("form[data-auto]");
    if (form) form.requestSubmit();
  });
  // A wheel over a number must not change it.
  document.addEventListener("wheel", (event) => {
    if (event.target.type === "number" && event.target === document.activeElement) event.target.blur();
  }, { passive: true });
}
