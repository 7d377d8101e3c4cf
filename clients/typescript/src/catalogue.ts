import { readFileSync } from "node:fs";
import type { Card } from "./gen/received/happycity/v1/cards.js";
import { CardInfo, Catalogue } from "./gen/received/happycity/v1/catalogue_service.js";

const CATALOGUE = Catalogue.decode(readFileSync(new URL("../../catalogue.binpb", import.meta.url)));

/** The printed values of all cards, in the order of their numbers, which begin with 1. */
export const CARDS: readonly CardInfo[] = CATALOGUE.cards;

/** SHA-256 of these cards, in hexadecimal, as a server's welcome has it. */
export const CATALOGUE_DIGEST: string = CATALOGUE.digest;

/** Return the printed values of a card. Of a card that this version doesn't know, all are 0. */
export function infoOf(card: Card): CardInfo {
  return CARDS[card - 1] ?? { ...CardInfo.decode(new Uint8Array()), card };
}
