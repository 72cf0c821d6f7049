// The best of all designs for the weights of the sliders, which the server searches.

import { make, short } from "./words.js";

async function search(button) {
  const place = document.getElementById("found");
  const weights = Array.from(document.querySelectorAll(".sliders input"), (slider) => Number(slider.value) / 100);
  if (!weights.some((weight) => weight > 0)) return place.replaceChildren(make("p", "Move a slider first.", "muted"));
  place.replaceChildren(make("p", "Searching…", "muted"));
  const address = "/api/studies/" + encodeURIComponent(button.dataset.study) + "/best?wait=25&weights=" + weights.join(",");
  try {
    const answer = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-store" });
    const content = await answer.json();
    if (answer.status !== 200) throw new Error(content?.error?.message || "the server answered " + answer.status);
    place.replaceChildren(...show(content));
  } catch (error) {
    place.replaceChildren(make("p", error.message, "error"));
  }
}

function show(front) {
  const [point] = front.points;
  const design = make("dl", undefined, "design");
  for (const name of front.parameters) {
    const pair = make("div");
    const value = point.design[name];
    pair.append(make("dt", name), make("dd", typeof value === "number" ? short(value) : String(value)));
    design.append(pair);
  }
  const expected = front.outputs.map((output) => {
    const found = point.outputs[output.name];
    if (!found) return output.name + " unknown";
    const isKnown = found.measured.length > 0 || output.formula;
    return output.name + " " + short(found.mean) + (found.sd > 0 ? " ± " + short(found.sd) : "") + (isKnown ? "" : " (predicted)");
  });
  const all = [make("p", "Best of all designs, with objectives weighed in the study's own units:"), design, make("p", expected.join(", "), "muted")];
  const template = document.getElementById("queue-found");
  if (template && !point.confirmed) {
    const form = template.content.cloneNode(true);
    form.querySelector("[name=design]").value = JSON.stringify(point.design);
    all.push(form);
  }
  return all;
}

export function begin() {
  document.addEventListener("click", (event) => {
    if (event.target.id === "search") search(event.target);
  });
}
