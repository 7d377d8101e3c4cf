// The people at a table: who is waited for, who is away and for how long the seat is kept, and what they say.

import { element } from "./board.js";
import { gettext, timeUntil } from "./words.js";

const SAID = 6000; // milliseconds for which a greeting is shown

const board = document.getElementById("board");
const others = document.getElementById("others");
const spoken = document.getElementById("spoken");
const own = Number(board.querySelector(".seat").dataset.seat);
let seats = []; // what the seats do, each with `due` on the page's own clock
let decides = false;
let heard = "";

const panelOf = (seat) => board.querySelector(`[data-seat="${seat}"]`);
const nameOf = (seat) => panelOf(seat).querySelector("h3 bdi").textContent;

const timeOf = (one) => timeUntil(one.due);

function sentence(one) {
  const [name, time] = [nameOf(one.seat), timeOf(one)];
  if (one.does === "replaced") return gettext("A bot plays for %(name)s for now", { name });
  if (one.does === "away") return gettext("%(name)s is away, the seat is kept for %(time)s", { name, time });
  return time ? gettext("%(name)s chooses, %(time)s", { name, time }) : gettext("%(name)s chooses", { name });
}

function show(one) {
  const note = panelOf(one.seat).querySelector(".activity") ?? element("span", "activity");
  const away = one.does === "away" ? [element("span", "word", gettext("away")), " "] : [];
  note.replaceChildren(...away, one.does === "replaced" ? gettext("a bot, for now") : timeOf(one));
  panelOf(one.seat).querySelector(".seat-head").append(note);
}

// Shows what the seats do now, and the time that is left.
export function showOthers() {
  const chooser = seats.find((one) => one.does === "chooses" && one.seat !== own);
  const title = document.querySelector("#seat-title[data-waits]");
  if (title && chooser) title.textContent = sentence(chooser);
  for (const one of seats) if (one.seat !== own) show(one);
  for (const line of others.children) line.firstChild.textContent = `${sentence(seats.find((one) => one.seat === Number(line.dataset.seat)))} `;
}

export function receiveOthers(received) {
  const now = performance.now();
  seats = received.seats.map((one) => ({ ...one, due: one.left === null ? null : now + 1000 * one.left }));
  decides = received.decides;
  for (const note of board.querySelectorAll(".activity")) note.remove();
  const absent = seats.filter((one) => one.does !== "chooses");
  others.replaceChildren(
    ...absent.map((one) => {
      const line = element("p", "", "");
      line.append(document.createTextNode(""));
      line.dataset.seat = one.seat;
      if (decides && one.does === "away") {
        const button = element("button", "", gettext("Let a bot play for now"));
        Object.assign(button, { type: "button" });
        button.dataset.replace = one.seat;
        line.append(button);
      }
      return line;
    }),
  );
  showOthers();
  // The time is said once, with the change.
  const people = seats.filter((one) => one.seat !== own && nameOf(one.seat).startsWith("@"));
  const news = people.map((one) => `${one.seat} ${one.does}`).join();
  if (news && news !== heard) spoken.textContent = people.map(sentence).join(". ");
  heard = news;
}

export function showGreeting([seat, words]) {
  const text = document.querySelector(`[data-greet="${words}"]`)?.textContent;
  if (!text) return;
  const bubble = element("p", "said", text);
  panelOf(seat).append(bubble);
  setTimeout(() => bubble.remove(), SAID);
  if (seat !== own) spoken.textContent = `${nameOf(seat)}: ${text}`;
}

// `send` sends a message to the server.
export function listen(send) {
  others.addEventListener("click", (event) => {
    const { replace } = event.target.dataset;
    if (replace) send({ replace: Number(replace) });
  });
  const greetings = document.getElementById("greetings");
  greetings?.addEventListener("click", (event) => {
    const { greet } = event.target.dataset;
    if (!greet) return;
    send({ greet });
    greetings.open = false;
    greetings.inert = true; // as long as the server would refuse the next one
    setTimeout(() => (greetings.inert = false), 2000);
  });
}
