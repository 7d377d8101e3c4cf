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
