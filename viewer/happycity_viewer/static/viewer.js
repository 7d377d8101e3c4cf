// Shows a game: its table at any position, and new positions while it runs. It knows no rules: each position
// comes with all that is shown of it, and each card's face is in the page.

import { follow } from "./socket.js";

const STEP_MILLISECONDS = 900;
const EASY_MILLISECONDS = 1800; // with reduced motion
const CITY_SIZE = 10;

const game = JSON.parse(document.getElementById("game").textContent);
const viewer = document.getElementById("viewer");
const board = document.getElementById("board");
const moves = document.getElementById("moves");
const slider = document.getElementById("slider");
const playButton = document.getElementById("play");
const faces = new Map(
  [...document.getElementById("faces").content.children].map((face) => [face.dataset.card, face]),
);
const seatQuery = new URLSearchParams(location.search).get("seat");
let position = Number(board.dataset.ply);
let playing = null;

const last = () => game.plies.length - 1;
const field = (root, name) => root.querySelector(`[data-field="${name}"]`);
const set = (root, name, text) => {
  const element = field(root, name);
  if (element.textContent !== String(text)) element.textContent = text;
};
const address = (ply) => `?ply=${ply}${seatQuery && seatQuery !== "1" ? `&seat=${seatQuery}` : ""}`;

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

// The board ----------------------------------------------------------------------------------------------

function slot(id, isNew) {
  return element("li", isNew ? "slot new" : "slot", faces.get(id).cloneNode(true));
}

function fill(list, slots, key) {
  if (list.dataset.shows === key) return;
  list.replaceChildren(...slots());
  list.dataset.shows = key;
}

function showCards(name, ids, news = []) {
  const list = board.querySelector(`[data-list="${name}"]`);
  fill(list, () => ids.map((id) => slot(id, news.includes(id))), `${ids}|${news}`);
}

function showSeat(panel, ply, results) {
  const seat = Number(panel.dataset.seat);
  const toMove = Boolean(ply.waits) && ply.seat === seat;
  panel.classList.toggle("to-move", toMove);
  set(panel, "turn", toMove ? ply.waits : "");
  for (const name of ["points", "inhabitants", "hearts", "coins", "income"]) set(panel, name, ply[name][seat]);
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
    final.append(element("b", "", `${result.place}.`), " place");
    if (result.ending !== "finished") final.append(", ", element("span", "bad", `forfeit: ${result.ending}`));
  }
  set(panel, "reason", result ? result.reason : "");
}

function showBoard(ply, results) {
  board.dataset.ply = ply.ply;
  showCards("centre", ply.centre, ply.drawn);
  showCards("specials", ply.specials);
  for (const name of ["decks", "discards"]) {
    for (const count of board.querySelectorAll(`[data-field="${name}"]`)) {
      count.textContent = ply[name][Number(count.dataset.index)];
    }
  }
  for (const stack of board.querySelectorAll("[data-stack]")) {
    const left = ply.dwellings[stack.dataset.stack];
    stack.querySelector(".stack b").textContent = left;
    stack.classList.toggle("empty", !left);
  }
  for (const panel of board.querySelectorAll("[data-seat]")) showSeat(panel, ply, results);
}

// The line about the last move, and where one is ---------------------------------------------------------

function words(ply) {
  if (ply.by === undefined) return "The cards are dealt";
  return (ply.answered ? "" : "no answer: ") + ply.text;
}

function showNow(ply) {
  const isMove = ply.by !== undefined;
  const seat = field(viewer, "now-seat");
  seat.className = isMove ? `seat-no s${ply.by}` : "seat-no";
  set(viewer, "now-seat", isMove ? ply.by + 1 : "");
  set(viewer, "now-bot", isMove ? game.bots[ply.by] : "");
  set(viewer, "now-text", words(ply));
  set(viewer, "ply", ply.ply);
  set(viewer, "last", last());
  set(viewer, "round", ply.round);
  slider.max = last();
  slider.value = ply.ply;
  slider.setAttribute("aria-valuetext", `${ply.ply} of ${last()}`);
  const targets = { first: 0, back: Math.max(0, ply.ply - 1), next: Math.min(last(), ply.ply + 1), last: last() };
  for (const link of viewer.querySelectorAll("[data-step]")) link.href = address(targets[link.dataset.step]);
  for (const link of viewer.querySelectorAll("[data-look]")) {
    link.href = `?ply=${ply.ply}&seat=${link.dataset.look}`;
  }
}

// The list of moves --------------------------------------------------------------------------------------

function thinkTime(microseconds) {
  const milliseconds = microseconds / 1000;
  if (milliseconds < 1) return "<1 ms";
  return milliseconds < 1000 ? `${milliseconds.toFixed(0)} ms` : `${(milliseconds / 1000).toFixed(1)} s`;
}

function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

function addMove(ply) {
  const link = element("a");
  link.href = address(ply.ply);
  link.append(element("span", `seat-no s${ply.by}`, `${ply.by + 1}`), element("span", "what", words(ply)));
  if (ply.think_us !== null) link.append(element("span", "think", thinkTime(ply.think_us)));
  const row = element("li", "move", link);
  row.dataset.ply = ply.ply;
  for (const incident of ply.incidents ?? []) row.append(element("span", "incident", icon("warn"), incident.text));
  if (ply.metrics) {
    const numbers = Object.entries(ply.metrics).map(([name, value]) => element("span", "", `${name} ${number(value)}`));
    row.append(element("span", "metrics", ...numbers));
  }
  for (const note of ply.notes) row.append(element("span", "note", note));
  moves.append(row);
  if (ply.begins) moves.append(element("li", "round", `Round ${ply.begins}`));
}

function number(value) {
  return String(Number(value.toPrecision(4)));
}

function markMove() {
  moves.querySelector('[aria-current="step"]')?.removeAttribute("aria-current");
  const row = moves.querySelector(`[data-ply="${position}"]`);
  const link = row?.querySelector("a");
  if (!link) return;
  link.setAttribute("aria-current", "step");
  // Only the list scrolls, never the page.
  const top = row.offsetTop;
  if (top < moves.scrollTop || top + row.offsetHeight > moves.scrollTop + moves.clientHeight) {
    moves.scrollTop = top - moves.clientHeight / 2;
  }
}

// Going from position to position ------------------------------------------------------------------------

function show(ply, { note = true } = {}) {
  position = Math.min(Math.max(0, ply), last());
  const shown = game.plies[position];
  showBoard(shown, position === last() ? game.end?.results : null);
  showNow(shown);
  markMove();
  if (!note) return;
  // Without a position, the address is that of the newest one.
  const newest = new URL(address(position), location.href);
  if (position === last() && !game.end) newest.searchParams.delete("ply");
  history.replaceState(null, "", newest);
}

function play(on) {
  clearInterval(playing);
  playing = null;
  if (on) {
    if (position === last()) show(0);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    playing = setInterval(
      () => (position < last() ? show(position + 1) : play(!game.end)),
      calm ? EASY_MILLISECONDS : STEP_MILLISECONDS,
    );
  }
  playButton.setAttribute("aria-pressed", String(on));
  playButton.title = on ? "Pause" : "Play";
  playButton.querySelector("use").setAttribute("href", on ? "#i-pause" : "#i-play");
  playButton.querySelector(".vh").textContent = on ? "Pause" : "Play";
}

const KEYS = {
  ArrowLeft: () => position - 1,
  ArrowRight: () => position + 1,
  Home: () => 0,
  End: () => last(),
};

document.addEventListener("keydown", (event) => {
  const target = KEYS[event.key];
  const elsewhere = event.target instanceof Element && event.target.closest("input, select, textarea, .wide");
  if (!target || elsewhere || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  play(false);
  show(target());
});

viewer.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.button);
  if (!link || !isPlain || link.dataset.look || link.origin !== location.origin) return;
  const ply = new URL(link.href).searchParams.get("ply");
  if (ply === null || link.pathname !== location.pathname) return;
  event.preventDefault();
  play(false);
  show(Number(ply));
});

slider.addEventListener("input", () => {
  play(false);
  show(Number(slider.value));
});
playButton.addEventListener("click", () => play(playing === null));

// Live ---------------------------------------------------------------------------------------------------

function showState(word) {
  const state = document.getElementById("match-state").firstElementChild;
  state.textContent = word;
  state.className = `state state-${word}`;
}

function receive(text) {
  const message = JSON.parse(text);
  const follows = position === last() && playing === null;
  for (const ply of message.plies ?? []) {
    if (ply.ply !== game.plies.length) continue; // sent again after a break of the connection
    game.plies.push(ply);
    addMove(ply);
  }
  if (message.end) {
    game.end = message.end;
    viewer.dataset.running = "no";
    showState(game.end.void ? "voided" : "finished");
    if (game.end.results) {
      const final = { ...game.plies[last()] };
      for (const name of ["points", "coins", "inhabitants", "hearts"]) {
        final[name] = game.end.results.map((seat) => seat[name]);
      }
      game.plies[last()] = final;
    }
  }
  show(follows ? last() : position, { note: false });
}

document.documentElement.classList.add("has-scripts");
markMove();
if (!game.end) follow(() => `${location.pathname}?from=${game.plies.length}`, receive);
