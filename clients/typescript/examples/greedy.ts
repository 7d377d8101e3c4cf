/** Plays with a rule of thumb: the move that gains most at once. Decides as the arena's bot of this name does. */

import { run } from "happycity";
import { chooseGreedily } from "./greedy-rule.js";

await run(() => chooseGreedily, { games: 0 });
