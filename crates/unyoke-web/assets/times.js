// Moments in the reader's own time, and how long runs have been going on.

import { duration, moment } from "./words.js";

// The clocks of server and reader may differ.
const ahead = Number(document.body.dataset.now) - Date.now() / 1000;

function prepare() {
  for (const time of document.querySelectorAll("time[datetime]")) {
    const date = new Date(time.dateTime);
    if (time.dataset.own === undefined && !Number.isNaN(date.getTime())) {
      time.dataset.own = "";
      time.title = time.textContent;
      time.textContent = moment(date);
    }
  }
  tick();
}

function tick() {
  const now = Date.now() / 1000 + ahead;
  for (const one of document.querySelectorAll("[data-since]")) {
    one.textContent = duration(now - Number(one.dataset.since));
  }
}

export function begin() {
  document.addEventListener("unyoke:changed", prepare);
  setInterval(tick, 1000);
  prepare();
}
