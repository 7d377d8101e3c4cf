/**
 * Has the server play each of its moves out in many worlds that look like what it sees, and plays the one after
 * which it ends furthest ahead. It knows none of the rules.
 */

import { dial, run } from "happycity";
import { SimulationServiceClient } from "happycity/v1";
import { Sampler } from "./sampler-bot.js";

let simulations: SimulationServiceClient | undefined;
let sampler: Sampler | undefined; // the same for all games

await run(() => {
  simulations ??= dial(SimulationServiceClient); // by now, `run` has found the settings to make sense
  sampler ??= new Sampler(simulations);
  return sampler;
});
simulations?.close();
