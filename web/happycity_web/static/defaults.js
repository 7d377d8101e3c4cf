// Keeps in the browser how the last game was set up: the form begins with that, and "Play now" needs no form. Until a
// game was played to its end, "Play now" is the guided one.

const KEY = "happycity-new-game";
const PLAYED_KEY = "happycity-played";

function remembered() {
  try {
    const fields = JSON.parse(localStorage.getItem(KEY));
    return fields && typeof fields === "object" ? fields : null;
  } catch {
    return null; // nothing is kept, or the browser keeps nothing
  }
}

function remember(form) {
  try {
    const { guide: _guide, seed: _seed, ...fields } = Object.fromEntries(new FormData(form));
    localStorage.setItem(KEY, JSON.stringify(fields));
  } catch {
    // The browser keeps nothing.
  }
}

// A choice that there is no longer, such as a bot that has left the house, stays as the server proposes it.
function fill(form, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const field = form.elements[name];
    if (field instanceof HTMLSelectElement && ![...field.options].some((option) => option.value === value)) continue;
    if (field) field.value = value;
  }
}

function setUp(fields) {
  const form = document.createElement("form");
  form.method = "post";
  form.action = "/play";
  for (const [name, value] of Object.entries(fields)) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    form.append(field);
  }
  document.body.append(form);
  form.submit();
}

const fields = remembered();
const form = document.querySelector("form.new-game");
if (form) {
  if (fields && "remembered" in form.dataset) fill(form, fields);
  form.addEventListener("submit", () => remember(form));
}
const button = document.querySelector("[data-play-now]");
const hasPlayed = () => {
  try {
    return localStorage.getItem(PLAYED_KEY) === "yes";
  } catch {
    return false;
  }
};
if (button && fields?.name && hasPlayed()) {
  const bots = [1, 2, 3, 4, 5].map((number) => fields[`seat${number}`]).filter((seat) => seat && !["me", "invite"].includes(seat));
  document.querySelector("[data-defaults]").textContent = [fields.name, ...bots].join(" · ");
  button.addEventListener("click", (event) => {
    event.preventDefault();
    setUp(fields);
  });
}
