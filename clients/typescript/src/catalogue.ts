/** The cards' printed values, as `CatalogueService` tells them: a bot may want them before it is connected. */

import { readFileSync } from "node:fs";
import { type Card, CardInfo, GetCatalogueResponse } from "./v1.js";

const file = new URL("../../catalogue.json", import.meta.url);

/** All cards, in the order of their numbers, which begin with 1. */
export const CARDS: readonly CardInfo[] = GetCatalogueResponse.fromJSON(
  JSON.parse(readFileSync(file, "utf8")),
).cards;

/** Return the printed values of a card. Of a card that this version doesn't know, all are 0. */
export function infoOf(card: Card): CardInfo {
  return CARDS[card - 1] ?? CardInfo.create({ card });
}
