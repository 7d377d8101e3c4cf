// New moves, shown one by one: cards fly into cities, numbers count, and tones sound. Who has asked for less motion, or for no
// pauses, sees the newest position at once.

import { field, isCalm } from "./board.js";
import { setting } from "./settings.js";
import { extend, goTo, known, shown } from "./viewer.js";

const MOVE_MILLISECONDS = 700; // that a move is shown, at normal speed
const LONGEST_FILM = 6000; // of many moves
const COUNT_MILLISECONDS = 450;
const FLIGHT_MILLISECONDS = 500;

const viewer = document.getElementById("viewer");
const board = document.getElementById("board");
const speed = setting("film-speed"); // 0: at once
let timer = null; // until the next move
let until = 0; // when the film ends at the latest
let shownAt = 0;
let isTaking = false;

export const isRunning = () => timer !== null || isTaking;

// Takes new positions; who looked at the newest one sees those that follow, else nothing moves.
export function showMoves(received) {
  const isWanted = shown() === known() - 1 && Number(speed.value) > 0 && !isCalm() && !document.hidden;
  isTaking = isWanted;
  extend(received, { follow: !isWanted });
  isTaking = false;
  if (!isWanted || timer !== null || shown() === known() - 1) return;
  until = performance.now() + LONGEST_FILM / Number(speed.value);
  timer = setTimeout(next, shownAt + pause() - performance.now());
}

// How long a move is shown: shorter where many are waiting.
function pause() {
  const left = Math.max(0, until - performance.now());
  return Math.min(MOVE_MILLISECONDS / Number(speed.value), left / (known() - shown()));
}

// Goes to the newest position.
export function skip() {
  if (timer === null) return;
  clearTimeout(timer);
  timer = null;
  goTo(known() - 1);
}

function next() {
  timer = shown() + 2 < known() ? setTimeout(next, pause()) : null;
  shownAt = performance.now();
  const numbers = [...board.querySelectorAll(".numbers dd")].map((number) => number.textContent);
  const market = new Map([...board.querySelectorAll(".market [data-card]")].map((card) => [card.dataset.card, card.getBoundingClientRect()]));
  goTo(shown() + 1);
  [...board.querySelectorAll(".numbers dd")].forEach((number, index) => count(number, numbers[index]));
  const card = board.querySelector(".seat .new .card");
  if (card && !card.getClientRects().length) fly(card, market.get(card.dataset.card));
  sound(card ? "built" : "card");
}

// Counts to the number that is written there.
function count(number, before) {
  let written = number.textContent;
  const [from, to] = [Number(before), Number(written)];
  if (from === to || Number.isNaN(from) || Number.isNaN(to)) return;
  const started = performance.now();
  const tick = (now) => {
    if (number.textContent !== written) return; // the next position is drawn
    const part = Math.min(1, Math.max(0, now - started) / COUNT_MILLISECONDS);
    written = String(Math.round(from + (to - from) * part));
    number.textContent = written;
    if (part < 1) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

// Lets a card of a city that isn't shown, as on a phone, fly to its owner.
function fly(card, from) {
  if (!from) return;
  const to = card.closest("[data-seat]").getBoundingClientRect();
  const flying = card.cloneNode(true);
  flying.classList.add("flying");
  Object.assign(flying.style, { left: `${from.left}px`, top: `${from.top}px`, width: `${from.width}px` });
  board.append(flying);
  const end = `translate(${to.left + to.width / 2 - from.left}px, ${to.top - from.top}px) scale(.2)`;
  flying.animate({ transform: ["none", end] }, { duration: FLIGHT_MILLISECONDS, easing: "ease-in" }).finished.finally(() => flying.remove());
}

viewer.addEventListener(
  "click",
  (event) => {
    if (timer === null) return;
    event.stopPropagation(); // it must not choose what it lets appear
    event.preventDefault();
    skip();
  },
  { capture: true },
);

// What the last move was, with the number of its seat.
export const caption = () => ["now-seat", "now-bot", "now-text"].map((name) => field(viewer, name).cloneNode(true));

// Short tones, unless a person has switched them off; browsers allow none before the first click or key.

const LOUDNESS = 0.08; // of 1
const TONES = {
  // [frequency in Hz, start and length in seconds]
  card: [[330, 0, 0.06]],
  built: [[196, 0, 0.1], [294, 0.07, 0.12]],
  turn: [[523, 0, 0.1], [659, 0.1, 0.15]],
  end: [[523, 0, 0.15], [659, 0.15, 0.15], [784, 0.3, 0.35]],
};

const isOn = setting("sound");
let context = null;

export function sound(name) {
  if (!isOn.checked || !navigator.userActivation?.hasBeenActive) return;
  context ??= new AudioContext();
  for (const [frequency, start, length] of TONES[name]) {
    const begin = context.currentTime + start;
    const tone = new OscillatorNode(context, { frequency, type: "triangle" });
    const volume = new GainNode(context, { gain: LOUDNESS });
    volume.gain.setTargetAtTime(0, begin, length / 3);
    tone.connect(volume).connect(context.destination);
    tone.start(begin);
    tone.stop(begin + 2 * length);
  }
}

isOn.addEventListener("change", () => sound("turn"));
