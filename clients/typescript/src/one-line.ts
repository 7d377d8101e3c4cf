/** Characters of a text in one line, and of the reason of a crash that the server keeps. */
const LENGTH = 200;

/** Return a text in one line of at most 200 characters, without control characters. */
export function oneLine(text: string): string {
  const words = text.replace(/[\p{C}\p{Z}]+/gu, " ").trim();
  return [...words].slice(0, LENGTH).join("");
}
