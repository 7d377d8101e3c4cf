/** The part of the contract `happycity.v1` that bots need, as generated. */

export * from "./gen/happycity/v1/bot.js";
export * from "./gen/happycity/v1/cards.js";
export * from "./gen/happycity/v1/catalogue_service.js";
export * from "./gen/happycity/v1/game.js";
export * from "./gen/happycity/v1/match.js";
export * from "./gen/happycity/v1/play_service.js";
export * from "./gen/happycity/v1/simulation_service.js";
