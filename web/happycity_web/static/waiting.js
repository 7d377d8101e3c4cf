// The table at which a person waits for others: who is there, and links that invite.

import { hideLink, showLink } from "./link.js";
import { follow } from "./socket.js";
import { timeUntil } from "./words.js";

const room = document.getElementById("waiting");
let due = null; // when bots take the open seats, on the page's own clock

function showTime() {
  const time = room.querySelector("[data-time]");
  if (time && due !== null) time.textContent = timeUntil(due);
}

setInterval(showTime, 500);

function receive(text) {
  const message = JSON.parse(text);
  if (message.begun) location.reload();
  if (message.link) showLink(message.link);
  if (message.waiting === undefined) return;
  const focused = document.activeElement?.dataset.invite;
  room.innerHTML = message.waiting;
  due = message.left === null ? null : performance.now() + 1000 * message.left;
  showTime();
  if (focused) room.querySelector(`[data-invite="${CSS.escape(focused)}"]`)?.focus();
  if (message.over) hideLink();
}

const socket = follow(() => location.pathname, receive, () => location.reload());

room.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.invite) socket.send(JSON.stringify({ invite: Number(button.dataset.invite) }));
  if (button && "leave" in button.dataset) socket.send(JSON.stringify({ leave: true }));
});

room.addEventListener("change", (event) => {
  const { value, dataset } = event.target;
  if (dataset.fill && value) socket.send(JSON.stringify({ fill: [Number(dataset.fill), value] }));
});
