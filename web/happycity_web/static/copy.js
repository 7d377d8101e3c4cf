// Buttons that copy what a field shows, and say so in the status beside them. Until this has run they are disabled.

import { gettext } from "./words.js";

for (const button of document.querySelectorAll("[data-copies]")) {
  const field = document.getElementById(button.dataset.copies);
  button.addEventListener("click", async () => {
    const state = button.parentElement.querySelector("[role=status]");
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      state.textContent = gettext("Copied");
    } catch {
      state.textContent = gettext("Selected: copy it with the keyboard");
    }
  });
  button.disabled = false;
}
