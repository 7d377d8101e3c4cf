// Keeps a page of lists current: the server sends the parts that have changed.

import { follow } from "./socket.js";
import { localise } from "./words.js";

function replace(part, html) {
  const focused = part.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...part.querySelectorAll(".wide")].map((wide) => wide.scrollLeft);
  const opened = new Set([...part.querySelectorAll("details[open]")].map((details) => details.id));
  part.innerHTML = html;
  localise(part);
  part.querySelectorAll(".wide").forEach((wide, index) => (wide.scrollLeft = scrolled[index] ?? 0));
  part.querySelectorAll("details").forEach((details) => (details.open ||= opened.has(details.id)));
  if (!focused) return;
  const selector = focused.id
    ? `#${CSS.escape(focused.id)}`
    : focused.getAttribute("href") && `a[href="${CSS.escape(focused.getAttribute("href"))}"]`;
  (selector && part.querySelector(selector))?.focus({ preventScroll: true });
}

const shown = new Map(); // the parts as the server sent them

function show(message) {
  for (const [name, html] of Object.entries(JSON.parse(message))) {
    const part = document.querySelector(`[data-live="${CSS.escape(name)}"]`);
    if (!part || shown.get(name) === html) continue;
    shown.set(name, html);
    replace(part, html);
  }
}

for (const part of document.querySelectorAll("[data-live]")) shown.set(part.dataset.live, part.innerHTML);
follow(() => location.pathname + location.search, show);
