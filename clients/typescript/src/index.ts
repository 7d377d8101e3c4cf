/** Connects bots to a Happy City arena: a bot is one function. */

export { CARDS, infoOf } from "./catalogue.js";
export { play, run } from "./client.js";
export * from "./decision.js";
export { type Outcome, Position, Worlds } from "./engine.js";
export { HappyCityError } from "./failure.js";
export { Card, Colour, Mode, Scoring } from "./gen/received/happycity/v1/cards.js";
export { type CardInfo, CardKind } from "./gen/received/happycity/v1/catalogue_service.js";
export type { Event, GameConfig, Move, SeatState } from "./gen/received/happycity/v1/game.js";
export { EventKind, MoveKind, Phase } from "./gen/received/happycity/v1/game.js";
export { Ending, type SeatResult, VoidReason } from "./gen/received/happycity/v1/match.js";
export type { BotInfo } from "./gen/sent/happycity/v1/bot.js";
export { seededRandom } from "./random.js";
export { ask, readDecision } from "./recorded.js";
export type { Settings } from "./settings.js";
