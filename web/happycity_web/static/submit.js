// Submits the files of a folder: a line of JSON with their paths and sizes, and their contents.

import { gettext } from "./words.js";

const form = document.getElementById("submit");
const said = document.getElementById("submit-said");

// Of a folder that also has a repository or an environment of Python, these are no part of the bot.
const isPart = (path) => !path.split("/").some((name) => name.startsWith(".") || name === "__pycache__");

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const chosen = [...form.elements.folder.files]
    .map((file) => [file.webkitRelativePath.split("/").slice(1).join("/"), file])
    .filter(([path]) => isPart(path));
  const described = { files: chosen.map(([path, file]) => [path, file.size]) };
  for (const name of ["command", "language"]) described[name] = form.elements[name].value;
  const body = new Blob([`${JSON.stringify(described)}\n`, ...chosen.map(([, file]) => file)]);
  form.elements.send.disabled = true;
  said.textContent = gettext("The files are being sent.");
  try {
    const response = await fetch(form.action, { method: "POST", body });
    const answer = await response.json();
    said.textContent = response.ok ? gettext("Submitted: it is tried, which takes a minute or two.") : answer.text;
  } catch {
    said.textContent = gettext("The server can't be reached.");
  }
  form.elements.send.disabled = false;
});
