// Moves the link of an invitation from the address into the form, so that the browser's history has no secret.

const link = location.hash.slice(1);
if (link) {
  document.getElementById("link").value = link;
  history.replaceState(null, "", location.pathname + location.search);
  for (const other of document.querySelectorAll(".languages a")) other.hash = link;
  document.getElementById("bots").focus();
}
