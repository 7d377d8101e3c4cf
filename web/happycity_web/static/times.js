// Shows moments in the reader's own time zone and language.

export function localise(root) {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title = time.textContent;
    time.textContent = format.format(new Date(time.dateTime));
  }
}
