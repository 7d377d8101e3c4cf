import { inspect } from "node:util";
import { oneLine } from "./one-line.js";

/** Marks of stack frames that are not in the author's code: in the SDK, in packages, in Node.js. */
const FOREIGN = [new URL(".", import.meta.url).href, "/node_modules/", "node:"];

/** Return what a bot threw in one line: the error's type and message, and the place in the author's code. */
export function crashReason(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(typeof error === "string" ? error : inspect(error));
  const place = placeOf(String(error.stack));
  return oneLine(place ? `${error} (${place})` : String(error));
}

/**
 * Return what two crashes of one kind have in common: the place in the author's code, or the text without its numbers
 * where the place isn't known.
 */
export function crashKind(error: unknown): string {
  const place = error instanceof Error ? placeOf(String(error.stack)) : "";
  return place || crashReason(error).replace(/\d+/g, "0");
}

/** Return the innermost place in the author's code, such as `first.mjs:12`; "" if there is none in the stack. */
function placeOf(stack: string): string {
  const frames = stack.split("\n").filter((line) => /^\s+at /.test(line));
  const own = frames.find((frame) => !FOREIGN.some((mark) => frame.includes(mark)));
  return own?.match(/([^/\\]+:\d+):\d+\)?$/)?.[1] ?? "";
}
