// A WebSocket that comes back by itself, with growing and jittered pauses.

import { gettext } from "./words.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15000;
const REFUSED = 4000; // Codes from here on are refusals: 4000 and an HTTP status.
const state = document.getElementById("link-state");

function say(text, isLost = false) {
  document.documentElement.classList.toggle("lost", isLost);
  if (!state) return;
  state.textContent = text;
  state.hidden = !text;
}

// `path` returns where to connect; `receive` gets each message as text. A socket that the server closes in
// good order is not opened again, nor one that it refuses; then `refused` is called. Returns an object whose `send` returns whether a text could be sent.
export function follow(path, receive, refused = () => {}) {
  let pause = FIRST_PAUSE;
  let current = null;
  const open = () => {
    const url = new URL(path(), location.href);
    url.searchParams.set("lang", document.documentElement.lang);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    current = socket;
    socket.addEventListener("message", (event) => {
      pause = FIRST_PAUSE;
      say("");
      receive(event.data);
    });
    socket.addEventListener("close", (event) => {
      const status = event.code - REFUSED;
      if (event.code === 1000) return;
      if (status >= 400 && status < 500 && status !== 429) {
        say(gettext("No longer live"));
        refused();
        return;
      }
      say(gettext("Connection lost, trying again"), true);
      setTimeout(open, pause * (0.5 + Math.random()));
      pause = Math.min(2 * pause, LONGEST_PAUSE);
    });
  };
  open();
  return {
    send(text) {
      const socket = current;
      const state = socket.readyState;
      if (state === WebSocket.OPEN) socket.send(text);
      if (state === WebSocket.CONNECTING) socket.addEventListener("open", () => socket.send(text));
      return state === WebSocket.OPEN || state === WebSocket.CONNECTING;
    },
  };
}
