// What the moves of a game cost, which the server works out when somebody asks for it; and the decisions that cost
// most, asked again on the board at their position, whose cards are the answers.

import { element } from "./board.js";
import { goTo, lookFrom, shown, take } from "./viewer.js";
import { gettext } from "./words.js";

const viewer = document.getElementById("viewer");
const board = document.getElementById("board");
const section = document.getElementById("analysis");
const bar = document.getElementById("asking");
let number = null; // of the question that is asked

const style = document.createElement("link");
style.rel = "stylesheet";
style.href = new URL("analysis.css", import.meta.url);
const styled = new Promise((resolve) => ["load", "error"].forEach((end) => style.addEventListener(end, resolve)));
document.head.append(style);

const questions = () => [...section.querySelectorAll("[data-question]")];

export async function showAnalysis(address) {
  stop();
  section.hidden = false;
  section.textContent = gettext("The game is being analysed, which takes some seconds.");
  section.scrollIntoView({ block: "nearest" });
  try {
    const url = new URL(address, location.href);
    url.searchParams.set("wait", "1");
    await Promise.all([take(section, url.href), styled]);
  } catch {
    section.textContent = gettext("The analysis failed; try again later.");
    return;
  }
  if (questions().length && document.getElementById("playing")) ask(0);
}

function clear() {
  for (const mark of board.querySelectorAll(".verdict")) mark.remove();
  for (const slot of board.querySelectorAll(".asked")) slot.classList.remove("asked", "tried", "was-chosen", "was-best");
}

function stop() {
  number = null;
  clear();
  if (!bar) return;
  bar.hidden = true;
  viewer.classList.remove("is-asking");
  document.getElementById("playing")?.classList.remove("learning");
}

function ask(next) {
  const question = questions()[next];
  stop();
  viewer.classList.add("is-asking");
  document.getElementById("playing")?.classList.add("learning");
  const link = new URL(question.querySelector("[data-ply]").href);
  lookFrom(Number(link.searchParams.get("seat") ?? 1));
  number = next;
  goTo(Number(question.dataset.question));
  const [head, what] = [question.querySelector("h3"), question.querySelector("p b")];
  bar.querySelector("h2").textContent = `${next + 1}/${questions().length} · ${what.textContent}`;
  bar.querySelector(".soft").textContent = head.textContent;
  bar.querySelector("[data-next]").hidden = questions().length < 2;
  bar.hidden = false;
  draw();
  viewer.scrollIntoView({ block: "start" });
  bar.querySelector("h2").focus({ preventScroll: true });
}

// Marks the cards that answer, and lists the moves that no card stands for.
function draw() {
  clear();
  const others = bar.querySelector(".other-answers");
  others.replaceChildren();
  bar.querySelector(".why").replaceChildren();
  for (const answer of questions()[number].querySelectorAll(".tries > li")) {
    const slot = answer.dataset.on && board.querySelector(answer.dataset.on)?.closest("li");
    const words = answer.querySelector("summary").textContent;
    const button = element("button", "verdict", ...(slot ? [element("span", "vh", words), "?"] : [words]));
    button.type = "button";
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      answered(answer, button);
    });
    if (slot) slot.classList.add("asked");
    (slot || others).append(button);
    button.answer = answer;
  }
}

function tell(button) {
  const answer = button.answer;
  const isBest = "best" in answer.dataset;
  const found = isBest ? `✓ ${gettext("best")}` : `−${answer.dataset.loss}`;
  const words = answer.querySelector("summary").textContent;
  const own = "chosen" in answer.dataset ? [" ", element("span", "soft", gettext("yours"))] : [];
  button.replaceChildren(element("span", button.closest(".asked") ? "vh" : "", `${words} `), element("b", "", found), ...own);
  const slot = button.closest(".asked") ?? button;
  slot.classList.add("tried");
  slot.classList.toggle("was-best", isBest);
  slot.classList.toggle("was-chosen", "chosen" in answer.dataset);
}

// What was tried is marked, and what was chosen in the game; the best move then says why.
function answered(answer, button) {
  tell(button);
  const all = [...board.querySelectorAll(".verdict"), ...bar.querySelectorAll(".verdict")];
  for (const one of all) if ("chosen" in one.answer.dataset) tell(one);
  if ("best" in answer.dataset) reveal();
}

function reveal() {
  for (const one of [...board.querySelectorAll(".verdict"), ...bar.querySelectorAll(".verdict")]) tell(one);
  bar.querySelector(".why").replaceChildren(...[...questions()[number].querySelectorAll(".best p")].map((line) => line.cloneNode(true)));
}

document.addEventListener("click", (event) => {
  if (event.target.closest?.("[data-ask]")) ask(0);
  else if (number !== null && event.target.closest?.("[data-next]")) ask((number + 1) % questions().length);
  else if (number !== null && event.target.closest?.("[data-reveal]")) reveal();
  else if (event.target.closest?.("[data-stop]")) stop();
});
board.addEventListener("click", (event) => {
  const button = event.target.closest(".asked")?.querySelector(".verdict");
  if (button && !event.target.closest(".verdict")) answered(button.answer, button);
});
// Who goes to another position has left the question.
viewer.addEventListener("shown", () => {
  if (number !== null && shown() !== Number(questions()[number].dataset.question)) stop();
});
