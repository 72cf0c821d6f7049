// Follows the study: whenever something has happened, the page is fetched again and its new parts are shown.
//
// The connection is made again when it is lost, from the position where it was: the server sends what came between.

import { update } from "./parts.js";

const study = document.body.dataset.study;
const sign = document.getElementById("connection");

// After a lost connection, and at least so often while something runs, in milliseconds.
const AGAIN = 1000;
const LIVE = 3000;

let source = null;
let position = Number(document.body.dataset.position);
let busy = false;
let wanted = false;
let onBack = () => {};

function say(state, words) {
  if (sign.textContent !== words) sign.textContent = words;
  sign.className = "connection " + state;
}

// One fetch at a time; what happens meanwhile makes another one.
export async function refresh() {
  wanted = true;
  if (busy || document.hidden) return;
  busy = true;
  while (wanted && !document.hidden) {
    wanted = false;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (answer.status === 401) return signedOut();
      if (answer.ok) update(await answer.text());
    } catch {
      break;
    }
  }
  busy = false;
}

function signedOut() {
  source?.close();
  say("off", "signed out: open the link of the server again");
}

function connect() {
  source?.close();
  source = new EventSource("/api/studies/" + encodeURIComponent(study) + "/events?from=" + position);
  source.addEventListener("hello", (event) => {
    say("on", "live");
    onBack();
    const now = JSON.parse(event.data).position;
    // What was computed meanwhile was announced to nobody.
    if (now !== position || isOld()) refresh();
    position = Math.max(position, now);
  });
  source.addEventListener("record", (event) => {
    position = Math.max(position, Number(event.lastEventId));
    refresh();
  });
  for (const kind of ["views", "live"]) source.addEventListener(kind, () => refresh());
  source.addEventListener("trouble", (event) => say("off", JSON.parse(event.data).message));
  source.addEventListener("error", () => {
    say("off", "connection lost, reconnecting…");
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN);
  });
}

// Whether the page waits for something that is being computed.
const isOld = () => document.querySelector(".state") !== null;

// Begins to follow; `back` is called whenever the server can be reached again.
export function follow(back) {
  onBack = back;
  connect();
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh();
  });
  if (document.body.dataset.view === "live") {
    setInterval(() => {
      if (document.querySelector(".run")) refresh();
    }, LIVE);
  }
  addEventListener("online", () => connect());
  addEventListener("pagehide", () => source.close());
  addEventListener("pageshow", (event) => {
    if (event.persisted) connect();
  });
}
