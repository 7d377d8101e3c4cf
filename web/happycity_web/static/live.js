// Keeps a page of lists current: the server sends the page again when it changes, and the parts that differ
// are replaced.

import { follow } from "./socket.js";
import { localise } from "./times.js";

const shown = new Map(); // the parts as the server sent them

function parts(page) {
  return [...page.querySelectorAll("[data-live]")];
}

function replace(part, old) {
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...old.querySelectorAll(".wide")].map((wide) => wide.scrollLeft);
  old.replaceWith(part);
  part.querySelectorAll(".wide").forEach((wide, index) => (wide.scrollLeft = scrolled[index] ?? 0));
  if (!focused) return;
  const selector = focused.id
    ? `#${CSS.escape(focused.id)}`
    : focused.getAttribute("href") && `a[href="${CSS.escape(focused.getAttribute("href"))}"]`;
  (selector && part.querySelector(selector))?.focus({ preventScroll: true });
}

function show(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  const places = new Map(parts(document).map((part) => [part.dataset.live, part]));
  if (parts(page).some((part) => !places.has(part.dataset.live))) {
    location.reload(); // a part is new, as after the first forfeit
    return;
  }
  for (const part of parts(page)) {
    const name = part.dataset.live;
    const source = part.outerHTML;
    if (shown.get(name) === source) continue;
    shown.set(name, source);
    const old = places.get(name);
    localise(part);
    replace(document.adoptNode(part), old);
  }
}

for (const part of parts(document)) shown.set(part.dataset.live, part.outerHTML);
localise(document);
follow(() => location.pathname + location.search, show);
