/**
 * Has the server play out each of its moves in many worlds that agree with what it sees, and plays the one with the
 * best mean lead. It knows no rules.
 */

import { dial, run } from "happycity";
import { SimulationServiceClient } from "happycity/v1";
import { Sampler } from "./sampler-bot.js";

let simulations: SimulationServiceClient | undefined;
let sampler: Sampler | undefined; // the same for all games

await run(() => {
  simulations ??= dial(SimulationServiceClient); // by now, `run` has checked the settings
  sampler ??= new Sampler(simulations);
  return sampler;
});
simulations?.close();
