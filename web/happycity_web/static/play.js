// A person's seat in a game: the moves to choose from, the clock, and what has happened since the last move. The
// server says which moves are legal and what they bring; the table itself is the viewer's. A move that is about
// a card or a deck of the table is chosen there.

import { showLink } from "./link.js";
import { isCalm } from "./motion.js";
import { follow } from "./socket.js";
import { extend, goTo, known, shown } from "./viewer.js";
import { gettext, ngettext } from "./words.js";

const KEYS_SETTING = "happycity-number-keys";
const WARNINGS = [60, 30, 10]; // seconds left at which the clock speaks
const NO_CLOCK = 3600; // more than this is not shown
const FILM_MILLISECONDS = 700; // that a move of others is shown
const LONGEST_FILM = 6000;

const playing = document.getElementById("playing");
const viewer = document.getElementById("viewer");
const board = document.getElementById("board");
const seat = document.getElementById("seat");
const panel = document.getElementById("panel");
const past = document.getElementById("past");
const clock = document.getElementById("clock");
const clockWarning = document.getElementById("clock-warning");
const newsList = document.getElementById("news");
const numberKeys = document.getElementById("number-keys");
const seatBar = seat.querySelector(".seat-bar");
const resign = document.getElementById("resign");
const resigning = document.getElementById("resigning");
const lookBack = document.getElementById("look-back");
const title = document.title;
let message = { panel: panel.innerHTML, decision: null, news: [], plays: false };
let chosen = null; // the decision that was answered
let due = null; // when the time is up, on the page's own clock
let warned = null;
let isAtMoves = true; // whether the focus is, or was before the table was drawn again
let film = null; // while moves of others are shown one by one

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

// Shows the choices, those about cards and decks on the table.
function showPanel() {
  for (const one of board.querySelectorAll("[data-on]")) one.remove();
  for (const slot of board.querySelectorAll(".can, .dimmed")) slot.classList.remove("can", "dimmed");
  const isNewest = shown() === known() - 1;
  past.hidden = isNewest || film !== null;
  past.firstElementChild.textContent = gettext("You look at move %(number)s.", { number: shown() });
  panel.innerHTML = message.panel;
  panel.hidden = !isNewest;
  playing.dataset.asks = message.asks ?? "";
  if (!isNewest) return;
  for (const one of panel.querySelectorAll("[data-on]")) {
    const slot = board.querySelector(one.dataset.on)?.closest("li");
    if (!slot) continue;
    slot.classList.toggle("can", one.matches("button"));
    slot.classList.toggle("dimmed", one.matches(".dimmed"));
    slot.append(one);
  }
  markChosen();
  // Who plays with the keyboard goes on with the first move; the title says what is asked, or that others play.
  if (isAtMoves) (playing.querySelector('[data-number="1"]') ?? document.getElementById("seat-title"))?.focus({ preventScroll: true });
}

function receivePanel(received) {
  message = received;
  if (message.news.length) showNews(message.news);
  document.title = message.decision === null ? title : `● ${title}`;
  seatBar.hidden = !message.plays;
  due = message.left === null ? null : performance.now() + 1000 * message.left;
  clockWarning.textContent = "";
  warned = null;
  showClock();
  if (film === null) showPanel();
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

// Shows the moves of others one by one, unless the person looks at the past.
function showFilm() {
  const pause = Math.min(FILM_MILLISECONDS, LONGEST_FILM / (known() - shown()));
  film = setInterval(() => (shown() + 1 < known() ? goTo(shown() + 1) : endFilm()), pause);
}

function endFilm() {
  if (film === null) return;
  clearInterval(film);
  film = null;
  goTo(known() - 1);
}

function receive(text) {
  const received = JSON.parse(text);
  if (received.plies || received.end) {
    const wasNewest = shown() === known() - 1;
    const withFilm = wasNewest && message.left !== undefined && !isCalm() && !document.hidden;
    extend(received, { follow: !withFilm });
    if (withFilm && film === null) showFilm();
  }
  if (received.panel !== undefined) receivePanel(received);
  if (received.link) showLink(received.link);
}

// Shows that there is nothing to play any more.
function showGone() {
  endFilm();
  receivePanel({ panel: document.getElementById("gone").innerHTML, decision: null, news: [], plays: false, left: null });
}

function path() {
  chosen = null; // over an old connection, it may have been lost
  return `${location.pathname}?from=${known()}`;
}

const socket = follow(path, receive, showGone);
setInterval(showClock, 500);
viewer.addEventListener("shown", () => film === null && showPanel());
viewer.addEventListener("click", endFilm, { capture: true });

// What the person does ------------------------------------------------------------------------------------

function markChosen() {
  if (message.decision === null || chosen?.decision !== message.decision) return;
  for (const button of playing.querySelectorAll("[data-move]")) {
    button.setAttribute("aria-disabled", "true");
    button.classList.toggle("chosen", button.dataset.move === chosen.move);
  }
}

function choose(button) {
  // Until the server answers: a second press must not choose in the next decision.
  if (chosen?.decision === message.decision) return;
  if (!socket.send(JSON.stringify({ answer: [message.decision, Number(button.dataset.move)] }))) return;
  chosen = { decision: message.decision, move: button.dataset.move };
  markChosen();
}

playing.addEventListener("click", (event) => {
  const slot = event.target.closest(".can, [data-move]");
  const button = slot?.matches("[data-move]") ? slot : slot?.querySelector("[data-move]");
  if (button) choose(button);
});

function markNearer(event) {
  const button = event.target.closest?.(".can, [data-move]");
  const nearer = (button?.querySelector("[data-nearer]") ?? button)?.dataset.nearer?.split(" ") ?? [];
  for (const slot of board.querySelectorAll('[data-list="specials"] .slot')) {
    slot.classList.toggle("nearer", nearer.includes(slot.querySelector("[data-card]").dataset.card));
  }
}
document.addEventListener("focusin", (event) => {
  isAtMoves = panel.contains(event.target) || event.target.matches("[data-move]");
});
for (const name of ["focusin", "pointerover"]) playing.addEventListener(name, markNearer);

document.addEventListener("keydown", (event) => {
  if (film !== null) endFilm();
  if (!numberKeys.checked || event.repeat || event.altKey || event.ctrlKey || event.metaKey || resigning.open) return;
  if (event.target instanceof Element && event.target.closest("input:not([type=checkbox]), select, textarea")) return;
  const button = /^[1-9]$/.test(event.key) && playing.querySelector(`[data-number="${event.key}"]`);
  if (!button || panel.hidden) return;
  event.preventDefault();
  button.focus({ preventScroll: true });
  choose(button);
});

lookBack.addEventListener("click", () => {
  const looks = playing.classList.toggle("looking");
  lookBack.setAttribute("aria-pressed", String(looks));
});
document.getElementById("to-newest").addEventListener("click", () => goTo(known() - 1));

board.addEventListener("click", (event) => {
  event.target.closest(".seat:not(:first-child)")?.classList.toggle("open");
});

document.getElementById("own-seat").addEventListener("click", () => socket.send(JSON.stringify({ seat: true })));
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
