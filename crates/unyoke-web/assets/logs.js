// The end of what a command has written, followed while it is open.

const AGAIN = 1000;

// So much is kept on the page, in characters.
const MOST = 60000;

async function follow(box, details) {
  if (box.dataset.following) return;
  box.dataset.following = "yes";
  const text = box.querySelector("pre");
  let from = null;
  while (details.open && details.isConnected) {
    try {
      const address = box.dataset.log + (from === null ? "" : "&from=" + from);
      const answer = await fetch(address, { headers: { Accept: "application/json" }, cache: "no-store" });
      if (answer.status === 404) break;
      if (answer.ok) {
        const piece = await answer.json();
        from = piece.to;
        if (piece.text !== "") add(text, piece.text);
        box.hidden = text.textContent === "";
      }
    } catch {
      // The connection is lost: the page says so, and this goes on when it is back.
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN));
  }
  delete box.dataset.following;
  text.textContent = "";
}

function add(text, piece) {
  const isAtEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 4;
  text.textContent = (text.textContent + piece).slice(-MOST);
  if (isAtEnd) text.scrollTop = text.scrollHeight;
}

function prepare() {
  for (const details of document.querySelectorAll("details.log[open]")) {
    for (const box of details.querySelectorAll("[data-log]")) follow(box, details);
  }
}

export function begin() {
  // The event does not bubble.
  document.addEventListener("toggle", (event) => {
    if (event.target.matches("details.log")) prepare();
  }, true);
  document.addEventListener("unyoke:changed", prepare);
  prepare();
}
