// What the pages of a study do beyond what can be read without a script. Each module does one thing.

import * as parts from "./parts.js";
import * as forms from "./forms.js";
import * as prices from "./prices.js";
import * as logs from "./logs.js";
import * as search from "./search.js";
import * as times from "./times.js";
import * as outbox from "./outbox.js";
import * as person from "./person.js";
import { follow } from "./stream.js";

document.documentElement.classList.add("script");
showCurrentView();

// On a phone the views do not fit beside each other. Scrolled by hand: scrollIntoView would move where Tab begins.
function showCurrentView() {
  const current = document.querySelector(".views [aria-current]");
  const list = current?.closest("ul");
  if (list) list.scrollLeft = current.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;
}

if (document.body.dataset.study !== undefined) {
  parts.begin();
  person.show();
  for (const module of [times, forms, prices, logs, search]) module.begin();
  outbox.send();
  follow(outbox.send);
}
