// What somebody enters goes here first, with a key of its own, and stays until the server has answered. It is sent
// again after a lost connection; the server knows the key and does nothing twice.

const place = document.getElementById("outbox");
const study = document.body.dataset.study;
const STORE = "unyoke.outbox";

// Before an entry is sent again by itself, in milliseconds.
const AGAIN = 2000;

// Those who wait for an answer, by key: entries of an earlier page have none.
const waiting = new Map();
let sending = false;
let timer = null;

function read() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) || [];
  } catch {
    return [];
  }
}
function write(entries) {
  localStorage.setItem(STORE, JSON.stringify(entries));
  show();
}
function drop(key) {
  write(read().filter((entry) => entry.body.key !== key));
}

function show() {
  if (!place) return;
  const count = read().filter((entry) => entry.tried).length;
  place.hidden = count === 0;
  place.textContent = count === 0 ? "" : (count === 1 ? "1 entry is" : count + " entries are") + " kept here and will be sent when the server can be reached";
}

// 22 characters by chance: unlike randomUUID this works without TLS too.
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Carries out an action. The promise ends with the server's answer, or with its refusal as an error.
export function act(action, fields, by) {
  const body = { ...fields, key: newKey(), by };
  write([...read(), { study, action, body, tried: false }]);
  const done = new Promise((resolve, reject) => waiting.set(body.key, { resolve, reject }));
  send();
  return done;
}

// Sends what waits, in its order.
export async function send() {
  if (sending) return;
  sending = true;
  clearTimeout(timer);
  for (let entry = read()[0]; entry; entry = read()[0]) {
    const settled = await sendOne(entry);
    if (!settled) {
      write(read().map((one) => ({ ...one, tried: true })));
      timer = setTimeout(send, AGAIN);
      break;
    }
  }
  sending = false;
  show();
}

// Whether the server has decided on the entry; if not, it is kept.
async function sendOne({ study, action, body }) {
  let answer, content;
  try {
    answer = await fetch("/api/studies/" + encodeURIComponent(study) + "/" + action, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
    });
    content = await answer.json();
  } catch {
    return false;
  }
  if (answer.status === 429 || answer.status === 503 || answer.status === 401) return false;
  drop(body.key);
  const who = waiting.get(body.key);
  waiting.delete(body.key);
  const message = content?.error?.message || "the server answered " + answer.status;
  if (answer.ok) who?.resolve(content);
  else if (who) who.reject(new Error(message));
  else alertAbout(action, message);
  return true;
}

// An entry of an earlier page was refused: nobody waits for that any more.
function alertAbout(action, message) {
  const note = document.createElement("p");
  note.className = "notice warning";
  note.setAttribute("role", "alert");
  note.textContent = "An entry that was kept (" + action + ") was refused: " + message;
  document.getElementById("main").prepend(note);
}

show();
