// A person's seat in a game: the moves to choose from, the clock, and what has happened since the last move. The
// server says which moves are legal and what they bring; the table itself is the viewer's.

import { follow } from "./socket.js";
import { extend, known } from "./viewer.js";
import { ngettext } from "./words.js";

const KEYS_SETTING = "happycity-number-keys";
const WARNINGS = [60, 30, 10]; // seconds left at which the clock speaks
const NO_CLOCK = 3600; // more than this is not shown

const seat = document.getElementById("seat");
const panel = document.getElementById("panel");
const clock = document.getElementById("clock");
const clockWarning = document.getElementById("clock-warning");
const newsList = document.getElementById("news");
const numberKeys = document.getElementById("number-keys");
const seatBar = seat.querySelector(".seat-bar");
const resign = document.getElementById("resign");
const resigning = document.getElementById("resigning");
const title = document.title;
let due = null; // when the time is up, on the page's own clock
let warned = null;
let isFirst = true;

// What the server shows -----------------------------------------------------------------------------------

function showNews(sentences) {
  newsList.replaceChildren(
    ...sentences.map((sentence) => {
      const item = document.createElement("li");
      item.textContent = sentence;
      return item;
    }),
  );
}

function showPanel(message) {
  const hadFocus = panel.contains(document.activeElement) || isFirst;
  panel.innerHTML = message.panel;
  if (message.news.length) showNews(message.news);
  const mayChoose = message.decision !== null;
  document.title = mayChoose ? `● ${title}` : title;
  seatBar.hidden = !message.plays;
  // Who plays with the keyboard goes on with the first move; the title says what is asked, or that others play.
  if (hadFocus) (panel.querySelector("[data-move]") ?? document.getElementById("seat-title")).focus({ preventScroll: !isFirst });
  isFirst = false;
}

function showClock() {
  const left = due === null ? null : Math.max(0, Math.ceil((due - performance.now()) / 1000));
  clock.hidden = left === null || left > NO_CLOCK;
  if (clock.hidden) return;
  clock.querySelector("b").textContent = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
  clock.classList.toggle("soon", left <= WARNINGS[1]);
  const warning = WARNINGS.findLast((seconds) => left <= seconds);
  if (warning && warning !== warned) clockWarning.textContent = ngettext("%(num)s second left", "%(num)s seconds left", left);
  warned = warning;
}

function receive(text) {
  const message = JSON.parse(text);
  if (message.plies || message.end) extend(message);
  if (message.panel === undefined) return;
  due = message.left === null ? null : performance.now() + 1000 * message.left;
  clockWarning.textContent = "";
  warned = null;
  showPanel(message);
  showClock();
}

const socket = follow(() => `${location.pathname}?from=${known()}`, receive);
setInterval(showClock, 500);

// What the person does ------------------------------------------------------------------------------------

function choose(button) {
  const moves = button.closest("[data-decision]");
  if (moves.dataset.chosen) return;
  // Until the server answers: a second press must not choose in the next decision.
  if (!socket.send(JSON.stringify({ answer: [Number(moves.dataset.decision), Number(button.dataset.move)] }))) return;
  moves.dataset.chosen = "yes";
  button.classList.add("chosen");
  for (const other of moves.querySelectorAll("button")) other.setAttribute("aria-disabled", "true");
}

panel.addEventListener("click", (event) => {
  const button = event.target.closest("[data-move]");
  if (button) choose(button);
});

document.addEventListener("keydown", (event) => {
  if (!numberKeys.checked || event.repeat || event.altKey || event.ctrlKey || event.metaKey || resigning.open) return;
  if (event.target instanceof Element && event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  const button = /^[1-9]$/.test(event.key) && panel.querySelector(`[data-number="${event.key}"]`);
  if (!button) return;
  event.preventDefault();
  button.focus({ preventScroll: true });
  choose(button);
});

resign.addEventListener("click", () => resigning.showModal());
resigning.addEventListener("close", () => {
  if (resigning.returnValue === "yes") socket.send(JSON.stringify({ leave: true }));
  resigning.returnValue = "";
});

try {
  numberKeys.checked = localStorage.getItem(KEYS_SETTING) !== "off";
} catch {
  numberKeys.checked = true;
}
numberKeys.addEventListener("change", () => {
  try {
    localStorage.setItem(KEYS_SETTING, numberKeys.checked ? "on" : "off");
  } catch {
    // Where nothing can be kept, the setting lasts as long as the page.
  }
});
