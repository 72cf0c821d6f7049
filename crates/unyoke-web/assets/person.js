// The name of whoever uses this browser, which stands beside what they enter. It is asked for once.

import { make } from "./words.js";

const STORE = "unyoke.name";
const place = document.getElementById("person");

export const name = () => localStorage.getItem(STORE) || "";

// The name, after asking for it if need be; null if nobody wants to tell.
export function ask() {
  return name() ? Promise.resolve(name()) : change();
}

function change() {
  const dialog = make("dialog");
  dialog.setAttribute("aria-labelledby", "who");
  const heading = make("h2", "Who are you?");
  heading.id = "who";
  const form = make("form", undefined, "entry");
  form.method = "dialog";
  const label = make("label", "Your name stands in the study beside what you enter");
  label.htmlFor = "name";
  const field = make("input");
  Object.assign(field, { id: "name", value: name(), required: true, maxLength: 100, autocomplete: "name" });
  const button = make("button", "Continue");
  button.type = "submit";
  form.append(label, field, button);
  dialog.append(heading, form);
  document.body.append(dialog);
  return new Promise((resolve) => {
    form.addEventListener("submit", () => {
      const said = field.value.trim();
      if (said) localStorage.setItem(STORE, said);
      show();
      resolve(said || null);
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(null);
    });
    dialog.showModal();
    field.select();
  });
}

export function show() {
  if (!place || !name()) return;
  const button = make("button", "change", "link");
  button.type = "button";
  button.setAttribute("aria-label", "Change your name");
  button.addEventListener("click", change);
  place.replaceChildren(name() + " ", button);
}
