// Texts in the language of the page, which brings those of its scripts; the English ones are in the scripts.

const language = document.documentElement.lang;
const texts = JSON.parse(document.getElementById("texts").textContent);
const rules = new Intl.PluralRules(language);
const point = (1.5).toLocaleString(language).charAt(1);

function filled(text, values) {
  return text.replaceAll(/%\((\w+)\)s/g, (_, name) => values[name]);
}

// `values` has what stands for the placeholders `%(name)s` of a text.
export function gettext(text, values = {}) {
  return filled(texts[text] ?? text, values);
}

// The text for a number, which also stands for the placeholder `%(num)s`.
export function ngettext(singular, plural, number, values = {}) {
  const forms = texts[singular] ?? { one: singular, other: plural };
  return filled(forms[rules.select(number)] ?? Object.values(forms).at(-1), { num: number, ...values });
}

// A number that is written with a decimal point, as the language writes it.
export function decimal(text) {
  return text.replace(".", point);
}

// Shows the moments of a page or part in the reader's own time zone and way of writing.
export function localise(root) {
  const page = document.documentElement.lang;
  const own = navigator.languages.find((language) => language.startsWith(page)); // such as en-GB for en
  const format = new Intl.DateTimeFormat(own ?? page, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.title = time.textContent;
    time.textContent = format.format(new Date(time.dateTime));
  }
}

queueMicrotask(() => localise(document)); // live.js keeps what the server wrote

const NO_CLOCK = 3600; // seconds; more is not shown

export const secondsUntil = (due) => (due === null ? null : Math.max(0, Math.ceil((due - performance.now()) / 1000)));

// The time until a moment of the page's own clock as people read a clock; "" if there is none, or too much.
export function timeUntil(due) {
  const left = secondsUntil(due);
  return left === null || left > NO_CLOCK ? "" : `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
}

// The page in another language, at the position that its address has now.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.(".languages a");
  if (!link) return;
  const address = new URL(location.href);
  address.searchParams.set("lang", link.hreflang);
  link.href = address;
});
