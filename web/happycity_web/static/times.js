// Shows moments in the reader's own time zone and language.

export function localise(root) {
  const page = document.documentElement.lang;
  const own = navigator.languages.find((language) => language.startsWith(page)); // such as en-GB for en
  const format = new Intl.DateTimeFormat(own ?? page, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title = time.textContent;
    time.textContent = format.format(new Date(time.dateTime));
  }
}
