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
