// Draws the table of a game at one position, as board.html does. It knows no rules: a position comes with all
// that is shown of it, and each card's face is in the page.

import { gettext } from "./words.js";

const CITY_SIZE = 10;
const NUMBERS = ["points", "inhabitants", "hearts", "coins", "income"];

const faces = new Map(
  [...document.getElementById("faces").content.children].map((face) => [face.dataset.card, face]),
);

export const field = (root, name) => root.querySelector(`[data-field="${name}"]`);

export function set(root, name, text) {
  const target = field(root, name);
  if (target.textContent !== String(text)) target.textContent = text;
}

export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

// `results` are those of the seats if the game is over at this position.
export function drawBoard(board, ply, results) {
  board.dataset.ply = ply.ply;
  drawCards(board, "centre", ply.centre, ply.drawn);
  drawCards(board, "specials", ply.specials);
  for (const name of ["decks", "discards"]) {
    for (const count of board.querySelectorAll(`[data-field="${name}"]`)) {
      count.textContent = ply[name][Number(count.dataset.index)];
    }
  }
  for (const stack of board.querySelectorAll("[data-stack]")) {
    const left = ply.dwellings[stack.dataset.stack];
    for (const count of stack.querySelectorAll(".stack b")) count.textContent = left;
    stack.classList.toggle("empty", !left);
  }
  for (const panel of board.querySelectorAll("[data-seat]")) drawSeat(panel, ply, results);
}

function slot(id, isNew) {
  return element("li", isNew ? "slot new" : "slot", faces.get(id).cloneNode(true));
}

function fill(list, slots, key) {
  if (list.dataset.shows === key) return;
  list.replaceChildren(...slots());
  list.dataset.shows = key;
}

function drawCards(board, name, ids, drawn = []) {
  const list = board.querySelector(`[data-list="${name}"]`);
  fill(list, () => ids.map((id) => slot(id, drawn.includes(id))), `${ids}|${drawn}`);
}

// Returns a number of a seat; one that is below 0 counts as 0.
function counted(ply, name, seat) {
  const total = ply.totals?.[name]?.[seat] ?? 0;
  return total < 0 ? `${ply[name][seat]} (−${-total})` : ply[name][seat];
}

function drawSeat(panel, ply, results) {
  const seat = Number(panel.dataset.seat);
  const toMove = Boolean(ply.waits) && ply.seat === seat;
  panel.classList.toggle("to-move", toMove);
  set(panel, "turn", toMove ? ply.waits : "");
  for (const name of NUMBERS) set(panel, name, counted(ply, name, seat));
  const city = ply.cities[seat];
  const placed = ply.placed === seat;
  fill(
    panel.querySelector('[data-list="city"]'),
    () => [
      ...city.map((id, index) => slot(id, placed && index === city.length - 1)),
      ...Array.from({ length: CITY_SIZE - city.length }, () => element("li", "slot free")),
    ],
    `${city}|${placed}`,
  );
  const result = results?.[seat];
  const final = field(panel, "final");
  final.replaceChildren();
  if (result) {
    const word = element("span", "vh", gettext("place"), " ");
    final.append(element("span", `place place-${result.place}`, word, `${result.place}`));
    if (result.ending !== "finished") {
      final.append(" ", element("span", "bad", gettext("forfeit: %(reason)s", { reason: gettext(result.ending) })));
    }
  }
  set(panel, "reason", result ? result.reason : "");
}

// Shows where a card comes from, and which numbers have changed, to people who have not asked for less motion.

const MOVE_MILLISECONDS = 450;
const CHANGE_MILLISECONDS = 900;
const COUNT_MILLISECONDS = 1200;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export const isCalm = () => calm.matches;

// Draws the next position; `ply` is that position, `draw` draws it.
export function drawMoving(board, ply, draw) {
  if (isCalm() || document.hidden) {
    draw();
    return;
  }
  const start = sourceOf(board, ply)?.getBoundingClientRect();
  const before = [...board.querySelectorAll(".numbers dd")].map((number) => number.textContent);
  draw();
  const panel = board.querySelector(`[data-seat="${ply.placed}"]`);
  const card = panel?.querySelector(".new .card");
  if (start && card?.getClientRects().length) move(card, start, card.getBoundingClientRect());
  [...board.querySelectorAll(".numbers dd")].forEach((number, index) => {
    if (number.textContent !== before[index]) mark(number);
  });
}

// Returns where the card lies that the move puts into a city.
function sourceOf(board, ply) {
  const id = ply.placed === null ? undefined : ply.cities[ply.placed].at(-1);
  return id && board.querySelector(`.market [data-card="${CSS.escape(id)}"]`);
}

function move(card, from, to) {
  const offset = `translate(${from.left - to.left}px, ${from.top - to.top}px) scale(${from.width / to.width})`;
  card.animate([{ transform: offset, transformOrigin: "0 0" }, { transform: "none", transformOrigin: "0 0" }], {
    duration: MOVE_MILLISECONDS,
    easing: "ease-in-out",
  });
}

function mark(number) {
  const style = getComputedStyle(document.documentElement);
  number.animate([{ backgroundColor: style.getPropertyValue("--coin") }, { backgroundColor: "transparent" }], {
    duration: CHANGE_MILLISECONDS,
  });
}

// Lets the points of a result grow to what they are.
export function countUp(root) {
  if (isCalm() || document.hidden) return;
  for (const number of root.querySelectorAll("[data-count]")) {
    const written = number.textContent;
    const total = Number(number.dataset.count);
    const started = performance.now();
    const tick = (now) => {
      const part = Math.min(1, Math.max(0, now - started) / COUNT_MILLISECONDS);
      number.textContent = part < 1 ? written.replace(/\d[\d\s.,]*\d|\d/, String(Math.round(total * part))) : written;
      if (part < 1) requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}
