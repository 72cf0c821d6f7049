// What if a measurement had another price: the table of "what next" is ranked anew, here, without changing the study.
//
// A price that does not depend on the design changes nothing about which design is best for its measurement, so
// that gain over price is all there is to compute.

import { act } from "./outbox.js";
import { ask } from "./person.js";
import { refresh } from "./stream.js";
import { share, short } from "./words.js";

const form = () => document.getElementById("prices");
const rows = () => Array.from(form().querySelectorAll("tbody tr"));

function rank() {
  const range = Number(form().dataset.range) || null;
  const words = (gain) => (range ? share(gain / range) : short(gain));
  const options = rows().map((row) => {
    const field = row.querySelector("input.price");
    const cost = Number(field.value);
    const isFit = field.value !== "" && cost > 0;
    field.classList.toggle("changed", cost !== Number(row.dataset.cost));
    const gain = Number(row.dataset.gain);
    return { row, field, gain, cost, ratio: isFit ? gain / cost : NaN };
  });
  const usable = options.filter((one) => !Number.isNaN(one.ratio));
  const best = usable.reduce((a, b) => (a && a.ratio >= b.ratio ? a : b), null);
  for (const one of options) {
    const rivals = usable.filter((other) => other !== one).map((other) => other.ratio);
    const strongest = Math.max(...rivals);
    one.row.classList.toggle("best", one === best);
    one.row.querySelector(".tag").hidden = one !== best;
    one.row.querySelector(".ratio").textContent = Number.isNaN(one.ratio) ? "–" : words(one.ratio);
    one.row.querySelector(".even").textContent = rivals.length > 0 && strongest > 0 ? short(one.gain / strongest) : "–";
  }
  say(options, best);
}

function say(options, best) {
  const changed = options.filter((one) => one.field.classList.contains("changed"));
  const verdict = document.getElementById("verdict");
  verdict.textContent = changed.length > 0 && best ? "With these prices, " + best.row.dataset.name + " comes first." : "";
  document.getElementById("reset").hidden = changed.length === 0;
  const keep = document.getElementById("keep");
  if (keep) keep.hidden = !changed.some((one) => one.row.dataset.measurement && one.cost > 0);
}

function reset() {
  for (const row of rows()) row.querySelector("input.price").value = row.dataset.cost;
  rank();
}

async function keep() {
  const by = await ask();
  if (by === null) return;
  const changed = rows().filter((row) => row.dataset.measurement && Number(row.querySelector("input.price").value) !== Number(row.dataset.cost));
  const verdict = document.getElementById("verdict");
  try {
    for (const row of changed) {
      await act("price", { measurement: row.dataset.measurement, cost: Number(row.querySelector("input.price").value) }, by);
    }
    reset();
    await refresh();
  } catch (error) {
    verdict.textContent = error.message;
  }
}

function prepare() {
  if (!form() || form().dataset.ready) return;
  form().dataset.ready = "yes";
  form().querySelector("button[type=submit]").hidden = true;
  rank();
}

export function begin() {
  document.addEventListener("input", (event) => {
    if (event.target.matches("input.price")) rank();
  });
  document.addEventListener("submit", (event) => {
    if (event.target.id === "prices") event.preventDefault();
  });
  document.addEventListener("click", (event) => {
    if (event.target.id === "reset" && form()) {
      event.preventDefault();
      reset();
    }
    if (event.target.id === "keep") keep();
  });
  document.addEventListener("unyoke:changed", prepare);
  prepare();
}
