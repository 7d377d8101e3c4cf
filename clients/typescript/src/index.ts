/** Connects bots to a Happy City arena: a bot is one function. */

export type {
  Bot,
  BotFactory,
  Choice,
  Choose,
  Decision,
  GameOver,
  GameStarted,
  Notes,
  View,
} from "./bot.js";
export { CARDS, infoOf } from "./catalogue.js";
export { type ClientClass, dial, retryAfterMs } from "./dial.js";
export { ConnectionFailedError, HappyCityError, SettingError } from "./errors.js";
export type { Log } from "./log.js";
export { type PlayOptions, play, run } from "./play.js";
export { seededRandom } from "./random.js";
export {
  type BotInfo,
  DEFAULT_GAMES,
  DEFAULT_RECONNECT_MS,
  DEFAULT_SERVER,
  type Settings,
  UNLIMITED,
} from "./settings.js";
export type { CardInfo, Event, GameConfig, Move, SeatResult, SeatState } from "./v1.js";
export {
  Card,
  CardKind,
  Colour,
  Ending,
  EventKind,
  Mode,
  MoveKind,
  Phase,
  Scoring,
  VoidReason,
} from "./v1.js";
export { VERSION } from "./version.js";
