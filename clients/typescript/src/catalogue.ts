/** The cards' printed values, which `CatalogueService` returns too: a bot may want them before it is connected. */

import { readFileSync } from "node:fs";
import { type Card, CardInfo, GetCatalogueResponse } from "./v1.js";

const file = new URL("../../catalogue.binpb", import.meta.url);

/** All cards, in the order of their numbers, which begin with 1. */
export const CARDS: readonly CardInfo[] = GetCatalogueResponse.decode(readFileSync(file)).cards;

/** Return the printed values of a card. Of a card that this version doesn't know, all are 0. */
export function infoOf(card: Card): CardInfo {
  return CARDS[card - 1] ?? { ...CardInfo.decode(new Uint8Array()), card };
}
