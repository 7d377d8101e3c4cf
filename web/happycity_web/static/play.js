// A person's seat in a game: the moves to choose from, the clock, and what has happened since the last move. The
// server says which moves are legal and what they bring; the table itself is the viewer's. A move that is about
// a card or a deck of the table is chosen there.

import { countUp, element, field } from "./board.js";
import { caption, isRunning, showMoves, skip, sound } from "./film.js";
import { listen, receiveOthers, showGreeting, showOthers } from "./people.js";
import { keep, kept, setting } from "./settings.js";
import { follow } from "./socket.js";
import { goTo, known, shown } from "./viewer.js";
import { gettext, ngettext, secondsUntil, timeUntil } from "./words.js";

const GUIDE_SETTING = "happycity-guide"; // the table at which the guide advises
const PLAYED_SETTING = "happycity-played"; // whether a game was played to its end
const WARNINGS = [60, 30, 10]; // seconds left at which the clock speaks
const SETTLED = 300; // milliseconds after which a new decision takes a press, which may be meant for the last one

const playing = document.getElementById("playing");
const viewer = document.getElementById("viewer");
const board = document.getElementById("board");
const seat = document.getElementById("seat");
const panel = document.getElementById("panel");
const past = document.getElementById("past");
const clock = document.getElementById("clock");
const clockWarning = document.getElementById("clock-warning");
const newsList = document.getElementById("news");
const numberKeys = setting("number-keys");
const guide = document.getElementById("guide");
const sheet = document.getElementById("sheet");
const [sheetText, sheetButton] = sheet.children;
const coarse = matchMedia("(pointer: coarse)");
const waiting = document.getElementById("others-play");
const seatBar = seat.querySelector(".seat-bar");
const resign = document.getElementById("resign");
const resigning = document.getElementById("resigning");
const lookBack = document.getElementById("look-back");
const title = document.title;
let message = { panel: panel.innerHTML, decision: null, news: [], plays: false };
let chosen = null; // the decision that was answered
let due = null; // when the time is up, on the page's own clock
let warned = null;
let touched = null; // the choice whose text is shown
let settling = null; // the decision that is new
let announced = null; // the decision, or the end, that was heard
let usesKeys = !coarse.matches; // else a ring would mark the first move as if it was chosen
let isAtMoves = true; // whether the focus is, or was before the table was drawn again

// Whether the last move that is shown is the person's own.
const isOwnMove = () => field(viewer, "now-seat").classList.contains(`s${board.querySelector(".seat").dataset.seat}`);

function lastMove() {
  const parts = caption();
  if (isOwnMove()) parts[1].textContent = gettext("You");
  return [parts.flatMap((part) => [part, " "])];
}

function showNews(entries) {
  newsList.replaceChildren(
    ...entries.map((parts) => {
      const item = document.createElement("li");
      item.append(...parts);
      return item;
    }),
  );
}

function clearTable() {
  showText(null);
  for (const one of board.querySelectorAll("[data-on]")) one.remove();
  for (const slot of board.querySelectorAll(".can, .dimmed")) slot.classList.remove("can", "dimmed");
}

// Shows the choices, those about cards and decks on the table.
function showPanel() {
  clearTable();
  const isNewest = shown() === known() - 1;
  past.hidden = isNewest;
  past.firstElementChild.textContent = gettext("You look at move %(number)s.", { number: shown() });
  panel.innerHTML = message.panel;
  panel.hidden = !isNewest;
  playing.dataset.asks = message.asks ?? "";
  showOthers();
  // What is shown as news belongs to the position that is shown.
  showNews(isNewest && message.news.length ? message.news.map((sentence) => [sentence]) : lastMove());
  if (!isNewest) return;
  announce();
  settle();
  for (const one of panel.querySelectorAll("[data-on]")) {
    const slot = board.querySelector(one.dataset.on)?.closest("li");
    if (!slot) continue;
    slot.classList.toggle("can", one.matches("button"));
    slot.classList.toggle("dimmed", one.matches(".dimmed"));
    slot.append(one);
  }
  markChosen();
  focusMoves();
}

// Lets a person hear that others have played, or that the game is over.
function announce() {
  const news = message.end ? "end" : message.decision;
  if (news === null || news === announced) return;
  announced = news;
  if (message.end) {
    keep(PLAYED_SETTING, "yes");
    countUp(panel);
    sound("end");
  }
  else if (!isOwnMove()) sound("turn");
}

// Lets a press that follows another one at once choose nothing in the next decision.
function settle() {
  if (message.decision === null || message.decision === settling) return;
  settling = message.decision;
  playing.classList.add("settling");
  setTimeout(() => playing.classList.remove("settling"), SETTLED);
}

// Shows one of the moves that a person waits for, before there are choices again.
function showMove() {
  clearTable();
  past.hidden = true;
  panel.hidden = false;
  playing.dataset.asks = "";
  panel.replaceChildren(waiting.content.cloneNode(true));
  showOthers();
  showNews(lastMove());
  focusMoves();
}

// Who plays with the keyboard goes on with the first move; the title says what is asked, or that others play.
function focusMoves() {
  if (isAtMoves && usesKeys) (playing.querySelector('[data-number="1"]') ?? document.getElementById("seat-title"))?.focus({ preventScroll: true });
}

// Whether the person goes on at once: what was asked stays until then, with what was chosen.
const goesOn = (received) =>
  received.decision === null && received.plays && !isRunning() && board.querySelector(".seat").classList.contains("to-move") && playing.querySelector("[data-move]");

function receivePanel(received) {
  if (goesOn(received)) return;
  message = received;
  document.title = message.decision === null ? title : `● ${gettext("Your turn")} - ${title}`;
  seatBar.hidden = !message.plays;
  due = message.left === null ? null : performance.now() + 1000 * message.left;
  clockWarning.textContent = "";
  warned = null;
  showClock();
  if (!isRunning()) showPanel();
}

function showClock() {
  showOthers();
  const [left, time] = [secondsUntil(due), timeUntil(due)];
  clock.hidden = !time;
  if (clock.hidden) return;
  clock.querySelector("b").textContent = time;
  clock.classList.toggle("soon", left <= WARNINGS[1]);
  const warning = WARNINGS.findLast((seconds) => left <= seconds);
  if (warning && warning !== warned) clockWarning.textContent = ngettext("%(num)s second left", "%(num)s seconds left", left);
  warned = warning;
}

function receive(text) {
  const received = JSON.parse(text);
  if (received.plies || received.end) showMoves(received);
  if (received.panel !== undefined) receivePanel(received);
  if (received.seats) receiveOthers(received);
  if (received.greeting) showGreeting(received.greeting);
  if (received.link) import("./link.js").then(({ showLink }) => showLink(received.link)); // few ask for one
}

// Shows that there is nothing to play any more.
function showGone() {
  skip();
  receivePanel({ panel: document.getElementById("gone").innerHTML, decision: null, news: [], plays: false, left: null });
}

function path() {
  chosen = null; // over an old connection, it may have been lost
  return `${location.pathname}?from=${known()}`;
}

const socket = follow(path, receive, showGone);
listen((sent) => socket.send(JSON.stringify(sent)));
setInterval(showClock, 500);
viewer.addEventListener("shown", () => (isRunning() ? showMove() : showPanel()));

function markChosen() {
  if (message.decision === null || chosen?.decision !== message.decision) return;
  for (const button of playing.querySelectorAll("[data-move]")) {
    button.setAttribute("aria-disabled", "true");
    button.classList.toggle("chosen", button.dataset.move === chosen.move);
  }
}

function choose(button) {
  // Until the server answers: a second press must not choose in the next decision.
  if (chosen?.decision === message.decision || playing.matches(".settling")) return;
  if (!socket.send(JSON.stringify({ answer: [message.decision, Number(button.dataset.move)] }))) return;
  chosen = { decision: message.decision, move: button.dataset.move };
  showText(null);
  markChosen();
}

// A finger that touches a card shows its text first, as nothing can be taken back; touched again, it is chosen.
function showText(card, button = null) {
  touched = button;
  for (const slot of playing.querySelectorAll(".touched")) slot.classList.remove("touched");
  sheet.hidden = !card;
  if (!card) return;
  (button?.closest(".can") ?? button)?.classList.add("touched");
  const name = (button ?? card).querySelector(".choice-name, .name").textContent;
  sheetText.replaceChildren(element("b", "", name), ...(button ? button.querySelector(".choice-effects").cloneNode(true).childNodes : [card.querySelector(".effect-text").textContent]));
  sheetButton.hidden = !button;
}

playing.addEventListener("click", (event) => {
  const slot = event.target.closest(".can, [data-move]");
  const button = slot?.matches("[data-move]") ? slot : slot?.querySelector("[data-move]");
  const isTouch = coarse.matches && event.detail > 0; // a key has no detail
  if (!button) showText(isTouch ? event.target.closest(".card:has(.effect-text)") : null);
  else if (isTouch && button !== touched) showText(button, button);
  else if (isTouch || event.detail < 2) choose(button); // not the second half of a double click
});
sheetButton.addEventListener("click", (event) => event.detail < 2 && choose(touched));

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

document.addEventListener("pointerdown", () => {
  usesKeys = false;
});
document.addEventListener("keydown", (event) => {
  usesKeys = true;
  if (isRunning()) {
    skip(); // and choose nothing that wasn't to be seen yet
    return;
  }
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

// After the game: the link to it, by the system's own dialog where there is one.
panel.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-share]");
  if (!button) return;
  const url = new URL(button.dataset.share, location.href).href;
  const shared = document.getElementById("shared");
  try {
    if (coarse.matches && navigator.share) await navigator.share({ title, url });
    else {
      await navigator.clipboard.writeText(url);
      shared.textContent = gettext("Copied");
    }
  } catch {
    shared.textContent = url; // to be copied by hand
  }
});

function showGuide(isOn) {
  if (guide) guide.checked = isOn;
  playing.classList.toggle("guided", isOn);
  if (isOn || kept(GUIDE_SETTING) === location.pathname) keep(GUIDE_SETTING, isOn ? location.pathname : "");
}

const isAskedFor = new URLSearchParams(location.search).has("guide");
showGuide(isAskedFor || kept(GUIDE_SETTING) === location.pathname);
if (isAskedFor) history.replaceState(null, "", location.pathname); // a page that is loaded again leaves it closed
guide?.addEventListener("change", () => showGuide(guide.checked));
panel.addEventListener("click", (event) => event.target.closest("#close-guide") && showGuide(false));
