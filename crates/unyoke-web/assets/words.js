// Numbers and times as people read them: numbers as the server writes them, times as the reader's clock has them.

// About four digits, as `words::short` of unyoke-view.
export function short(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (!(size >= 1e-3 && size < 1e6)) return scientific(value);
  const digits = Math.min(6, Math.max(0, 3 - Math.floor(Math.log10(size))));
  const text = value.toFixed(digits);
  return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

function scientific(value) {
  return Number.isFinite(value) ? value.toExponential(3).replace("e+", "e") : "–";
}

// A share in percent, to two digits, as `words::share`.
export function share(part) {
  const percent = 100 * part;
  const size = Math.abs(percent);
  if (percent === 0) return "0 %";
  if (size < 0.01) return "< 0.01 %";
  if (size >= 100) return percent.toFixed(0) + " %";
  const digits = Math.min(3, Math.max(0, 1 - Math.floor(Math.log10(size))));
  return percent.toFixed(digits) + " %";
}

// How long, in two units.
export function duration(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return s + " s";
  if (s < 3600) return Math.floor(s / 60) + " min " + (s % 60) + " s";
  if (s < 86400) return Math.floor(s / 3600) + " h " + Math.floor((s % 3600) / 60) + " min";
  return Math.floor(s / 86400) + " d " + Math.floor((s % 86400) / 3600) + " h";
}

// A moment in the reader's own time; today without a date.
export function moment(date) {
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  if (date.toDateString() === new Date().toDateString()) return time;
  return date.toLocaleDateString([], { year: "numeric", month: "short", day: "numeric" }) + ", " + time;
}

// An element with text, never with markup.
export function make(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}
