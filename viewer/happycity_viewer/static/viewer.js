// Goes through a game: its positions, the list of its moves, and what people do with a position.

import { drawBoard, drawMoving, element, field, icon, isCalm, set } from "./board.js";
import { decimal, gettext } from "./words.js";

const STEP_MILLISECONDS = 1000; // at normal speed
const CALM_FACTOR = 2; // with reduced motion, a position stays longer
const LONG_THINK = 5; // times the bot's median
const SHORTEST_LONG_THINK = 10; // milliseconds
const KEYS_SETTING = "happycity-letter-keys";

const game = JSON.parse(document.getElementById("game").textContent);
const viewer = document.getElementById("viewer");
const board = document.getElementById("board");
const moves = document.getElementById("moves");
const slider = document.getElementById("slider");
const playButton = document.getElementById("play");
const speed = document.getElementById("speed");
const longThink = document.getElementById("long-think");
const letterKeys = document.getElementById("letter-keys");
const result = document.getElementById("result");
const query = new URLSearchParams(location.search);
// A position has what is different from the one before; the list has the words of the moves.
const said = [...moves.querySelectorAll(".move .what")];
game.plies.forEach((ply, number, plies) => {
  const listed = { think_ms: game.think_ms[number], text: said[number].textContent };
  plies[number] = { ...plies[number - 1], ...game.own, ...listed, ...ply, ply: number };
});
const embedded = query.get("embed") === "1";
let position = Number(board.dataset.ply);
let seat = queryNumber("seat", 1, game.bots.length) ?? Number(viewer.dataset.look);
let playing = null;

const last = () => game.plies.length - 1;

function queryNumber(name, lowest, highest) {
  const text = query.get(name);
  const number = Number(text);
  return text && Number.isInteger(number) && lowest <= number && number <= highest ? number : null;
}

function address(ply, from = seat) {
  return `?ply=${ply}${from === 1 ? "" : `&seat=${from}`}${embedded ? "&embed=1" : ""}`;
}

function median(numbers) {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

function longThinks() {
  const medians = game.bots.map((_, by) =>
    median(game.plies.filter((ply) => ply.by === by && ply.think_ms !== null).map((ply) => ply.think_ms)),
  );
  return (ply) =>
    ply.by !== undefined && ply.think_ms >= Math.max(SHORTEST_LONG_THINK, LONG_THINK * medians[ply.by]);
}

const hasIncident = (ply) => Boolean(ply.incidents);

// Returns the number of the next position of a kind, after the last one again the first; null without any.
function nextOf(isWanted) {
  const found = game.plies.filter(isWanted).map((ply) => ply.ply);
  return found.find((ply) => ply > position) ?? found[0] ?? null;
}

function words(ply) {
  if (ply.by === undefined) return gettext("The cards are dealt");
  return ply.answered ? ply.text : gettext("no answer: %(move)s", { move: ply.text });
}

function showNow(ply) {
  const isMove = ply.by !== undefined;
  field(viewer, "now-seat").className = isMove ? `seat-no s${ply.by}` : "seat-no";
  set(viewer, "now-seat", isMove ? ply.by + 1 : "");
  set(viewer, "now-bot", isMove ? game.bots[ply.by] : "");
  set(viewer, "now-text", words(ply));
  set(viewer, "ply", ply.ply);
  set(viewer, "last", last());
  set(viewer, "round", ply.round);
  slider.max = last();
  slider.value = ply.ply;
  slider.setAttribute("aria-valuetext", `${ply.ply} / ${last()}`);
  showTargets();
}

function showTargets() {
  const incidents = game.plies.filter(hasIncident).length;
  set(viewer, "incidents", incidents);
  field(viewer, "incidents").closest("li").hidden = !incidents;
  longThink.disabled = nextOf(longThinks()) === null; // it keeps its place
  const targets = {
    first: 0,
    back: Math.max(0, position - 1),
    next: Math.min(last(), position + 1),
    last: last(),
    incident: nextOf(hasIncident) ?? position,
  };
  for (const link of viewer.querySelectorAll("[data-step]")) link.href = address(targets[link.dataset.step]);
  for (const link of viewer.querySelectorAll("a[data-look]")) {
    link.href = address(position, Number(link.dataset.look));
    if (Number(link.dataset.look) === seat) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function thinkTime(milliseconds) {
  if (milliseconds >= 1000) return gettext("%(number)s s", { number: decimal((milliseconds / 1000).toFixed(1)) });
  return gettext("%(number)s ms", { number: milliseconds ? String(milliseconds) : "<1" });
}

function number(value) {
  return decimal(String(Number(value.toPrecision(4))));
}

function incidentNote(incident) {
  const note = element("span", "incident", icon("warn"), incident.text);
  note.lang = "en";
  return note;
}

function addMove(ply) {
  const link = element("a");
  link.href = address(ply.ply);
  link.append(element("span", `seat-no s${ply.by}`, `${ply.by + 1}`), element("span", "what", words(ply)));
  if (ply.think_ms !== null) link.append(element("span", "think", thinkTime(ply.think_ms)));
  const row = element("li", "move", link);
  for (const incident of ply.incidents ?? []) row.append(incidentNote(incident));
  if (ply.metrics) {
    const numbers = Object.entries(ply.metrics).map(([name, value]) => element("span", "", `${name} ${number(value)}`));
    row.append(element("span", "metrics", ...numbers));
  }
  for (const note of ply.notes) row.append(element("span", "note", note));
  moves.append(row);
  if (ply.begins) moves.append(element("li", "round", gettext("Round %(number)s", { number: ply.begins })));
}

function markMove() {
  moves.querySelector('[aria-current="step"]')?.removeAttribute("aria-current");
  const row = moves.querySelectorAll(".move")[position];
  const link = row?.querySelector("a");
  if (!link) return;
  link.setAttribute("aria-current", "step");
  // Only the list scrolls, never the page.
  const top = row.offsetTop;
  if (top < moves.scrollTop || top + row.offsetHeight > moves.scrollTop + moves.clientHeight) {
    moves.scrollTop = top - moves.clientHeight / 2;
  }
}

function show(ply, { note = true } = {}) {
  const before = position;
  position = Math.min(Math.max(0, ply), last());
  const shown = game.plies[position];
  const draw = () => drawBoard(board, shown, position === last() ? game.end?.results : null);
  if (position === before + 1) drawMoving(board, shown, draw);
  else draw();
  result.hidden = !result.childElementCount || position !== last();
  showNow(shown);
  markMove();
  if (note) noteAddress();
  viewer.dispatchEvent(new Event("shown"));
}

function noteAddress() {
  // Without a position, the address is that of the newest one.
  const newest = new URL(address(position), location.href);
  if (position === last() && !game.end) newest.searchParams.delete("ply");
  try {
    history.replaceState(null, "", newest);
  } catch {
    // Some browsers let no page change the address of a file.
  }
  document.getElementById("link").value = newest.href;
}

export function lookFrom(number) {
  seat = number;
  const panels = new Map([...board.querySelectorAll("[data-seat]")].map((panel) => [panel.dataset.seat, panel]));
  const ordered = game.bots.map((_, offset) => panels.get(String((seat - 1 + offset) % game.bots.length)));
  ordered[0].parentElement.append(...ordered);
  moves.querySelectorAll(".move > a").forEach((link, ply) => (link.href = address(ply)));
  show(position);
}

function play(on) {
  clearInterval(playing);
  playing = null;
  if (on) {
    if (position === last()) show(0);
    const pause = (STEP_MILLISECONDS * (isCalm() ? CALM_FACTOR : 1)) / Number(speed.value);
    playing = setInterval(() => (position < last() ? show(position + 1) : play(!game.end)), pause);
  }
  playButton.setAttribute("aria-pressed", String(on));
  playButton.title = on ? gettext("Pause (space)") : gettext("Play (space)");
  playButton.querySelector("use").setAttribute("href", on ? "#i-pause" : "#i-play");
  playButton.querySelector(".vh").textContent = on ? gettext("Pause") : gettext("Play");
}

export function goTo(ply) {
  play(false);
  if (ply !== null) show(ply);
}

// Shows in a section what the section of that name on a page of the server holds.
export async function take(section, address) {
  const response = await fetch(address);
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  section.replaceChildren(...page.getElementById(section.id).childNodes);
}

// How a game ended, which the server writes.
export async function takeResult() {
  try {
    await take(result, location.href);
    show(position);
  } catch {
    // The places stand at the cities.
  }
}

const ARROWS = {
  ArrowLeft: () => goTo(position - 1),
  ArrowRight: () => goTo(position + 1),
  Home: () => goTo(0),
  End: () => goTo(last()),
};
const TAKES_KEYS = "input:not([type=checkbox]), select, textarea, .wide";
const TAKES_SPACE = "a, button, input, summary";
const LETTERS = {
  " ": () => play(playing === null),
  i: () => goTo(nextOf(hasIncident)),
  t: () => goTo(nextOf(longThinks())),
};

document.addEventListener("keydown", (event) => {
  const isArrow = event.key in ARROWS;
  const action = isArrow ? ARROWS[event.key] : letterKeys.checked && LETTERS[event.key];
  const others = event.key === " " ? `${TAKES_KEYS}, ${TAKES_SPACE}` : TAKES_KEYS;
  const elsewhere = event.target instanceof Element && event.target.closest(others);
  if (!action || elsewhere || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  action();
});

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-look], a[data-step], a[data-ply], a[data-analysis], .move a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (link.dataset.analysis) showAnalysis(link);
  else if (link.dataset.look) lookFrom(Number(link.dataset.look));
  else goTo(Number(new URL(link.getAttribute("href"), location.href).searchParams.get("ply")));
  if (link.dataset.ply !== undefined) board.scrollIntoView();
});

// What shows the analysis is loaded when somebody asks for it; without it, the link leads to a page.
function showAnalysis(link) {
  import(link.dataset.analysis).then((module) => module.showAnalysis(link.href)).catch(() => location.assign(link.href));
}

slider.addEventListener("input", () => goTo(Number(slider.value)));
playButton.addEventListener("click", () => play(playing === null));
speed.addEventListener("change", () => play(playing !== null));
longThink.addEventListener("click", LETTERS.t);

document.getElementById("copy").addEventListener("click", async () => {
  const link = document.getElementById("link");
  link.select();
  try {
    await navigator.clipboard.writeText(link.value);
    set(viewer, "copied", gettext("Copied"));
  } catch {
    set(viewer, "copied", gettext("Selected: copy it with the keyboard"));
  }
});

letterKeys.addEventListener("change", () => {
  try {
    localStorage.setItem(KEYS_SETTING, letterKeys.checked ? "on" : "off");
  } catch {
    // Where nothing can be kept, the setting lasts as long as the page.
  }
});

// Whether the game is over, how many positions are known, and which one is shown.
export const isOver = () => Boolean(game.end);
export const known = () => game.plies.length;
export const shown = () => position;

function showState(word) {
  const state = document.getElementById("match-state").firstElementChild;
  state.textContent = word === "voided" ? gettext("voided") : gettext("finished");
  state.className = `state state-${word}`;
}

// Takes new positions of the game, and its end; who looks at the newest position then sees the new one, if
// `follow` doesn't say otherwise.
export function extend(news, { follow = true } = {}) {
  const follows = follow && position === last() && playing === null;
  for (const ply of news.plies ?? []) {
    if (ply.ply !== game.plies.length) continue; // sent again after a break of the connection
    game.plies.push(ply);
    addMove(ply);
  }
  if (news.end) {
    game.end = news.end;
    viewer.dataset.running = "no";
    showState(game.end.void ? "voided" : "finished");
    if (game.end.results) {
      const final = { ...game.plies[last()] };
      for (const name of ["points", "coins", "inhabitants", "hearts"]) {
        final[name] = game.end.results.map((result) => result[name]);
      }
      game.plies[last()] = final;
    }
  }
  show(follows ? last() : position, { note: false });
}

try {
  letterKeys.checked = localStorage.getItem(KEYS_SETTING) !== "off";
} catch {
  letterKeys.checked = true;
}
document.documentElement.classList.toggle("embed", embedded);
// A file's address may name a position that is not the one written into it.
position = queryNumber("ply", 0, last()) ?? position;
board.addEventListener("click", (event) => {
  event.target.closest("main > .viewer .seat")?.classList.toggle("open");
});
if (seat !== Number(viewer.dataset.look) || position !== Number(board.dataset.ply)) lookFrom(seat);
else {
  showTargets();
  markMove();
}
document.getElementById("link").value = new URL(address(position), location.href).href;
