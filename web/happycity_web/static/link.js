// A link that a page shows because a button has asked for it, to be copied.

import "./copy.js";

const box = document.getElementById("own-link");
const address = document.getElementById("own-link-address");
const state = document.getElementById("link-copied");

export function showLink(path) {
  address.value = new URL(path, location.href).href;
  state.textContent = "";
  box.hidden = false;
  address.focus();
  address.select();
}

export function hideLink() {
  box.hidden = true;
}
