/** Connects bots to a Happy City arena: a bot is one function. */

export type {
  Bot,
  BotFactory,
  Choice,
  Choose,
  Decision,
  GameOver,
  GameStart,
  Notes,
  Thought,
  View,
} from "./bot.js";
export { CARDS, infoOf } from "./catalogue.js";
export { PROTOCOL_VERSION } from "./connection.js";
export { type ClientClass, dial, retryAfterMs } from "./dial.js";
export { ConnectionFailedError, HappyCityError, SettingError } from "./errors.js";
export type { Log } from "./log.js";
export { type PlayOptions, playGames, run } from "./play.js";
export { seededRandom } from "./random.js";
export { DEFAULT_GAMES, DEFAULT_RECONNECT_MS, DEFAULT_SERVER, type Settings } from "./settings.js";
export type {
  CardInfo,
  Clock,
  Event,
  GameConfig,
  Move,
  Outcome,
  SeatState,
} from "./v1.js";
export {
  Card,
  CardKind,
  Colour,
  Ending,
  EventKind,
  Mode,
  Phase,
  Scoring,
  VoidReason,
} from "./v1.js";
export { VERSION } from "./version.js";
