// Shows moments in the reader's own time zone and language, and the time that is left.

const NO_CLOCK = 3600; // seconds; more is not shown

export const secondsUntil = (due) => (due === null ? null : Math.max(0, Math.ceil((due - performance.now()) / 1000)));

// Returns the time until a moment of the page's own clock as people read a clock; "" if there is none, or too much.
export function timeUntil(due) {
  const left = secondsUntil(due);
  return left === null || left > NO_CLOCK ? "" : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}

export function localise(root) {
  const page = document.documentElement.lang;
  const own = navigator.languages.find((language) => language.startsWith(page)); // such as en-GB for en
  const format = new Intl.DateTimeFormat(own ?? page, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title = time.textContent;
    time.textContent = format.format(new Date(time.dateTime));
  }
}
