import { readFileSync } from "node:fs";

/** Read a file of cases that hold for all SDKs. */
export function readCases<Case>(name: string): Case[] {
  const text = readFileSync(new URL(`../../../conformance/${name}`, import.meta.url), "utf8");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Case);
}
