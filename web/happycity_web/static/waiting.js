// The table at which a person waits for others: who is there, and links that invite.

import { follow } from "./socket.js";
import { gettext } from "./words.js";

const room = document.getElementById("waiting");
const invitation = document.getElementById("invitation");
const link = document.getElementById("invitation-link");
const state = document.getElementById("invitation-state");

function receive(text) {
  const message = JSON.parse(text);
  if (message.begun) location.reload();
  if (message.link) {
    link.value = new URL(message.link, location.href).href;
    state.textContent = "";
    invitation.hidden = false;
    link.focus();
    link.select();
  }
  if (message.waiting === undefined) return;
  const focused = document.activeElement?.dataset.invite;
  room.innerHTML = message.waiting;
  if (focused) room.querySelector(`[data-invite="${CSS.escape(focused)}"]`)?.focus();
  if (message.over) invitation.hidden = true;
}

const socket = follow(() => location.pathname, receive);

room.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.invite) socket.send(JSON.stringify({ invite: Number(button.dataset.invite) }));
  if (button && "leave" in button.dataset) socket.send(JSON.stringify({ leave: true }));
});

room.addEventListener("change", (event) => {
  const { value, dataset } = event.target;
  if (dataset.fill && value) socket.send(JSON.stringify({ fill: [Number(dataset.fill), value] }));
});

document.getElementById("copy-invitation").addEventListener("click", async () => {
  link.select();
  try {
    await navigator.clipboard.writeText(link.value);
    state.textContent = gettext("Copied");
  } catch {
    state.textContent = gettext("Selected: copy it with the keyboard");
  }
});
