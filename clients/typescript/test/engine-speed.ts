/** What `python -m tools sdk-speed` measures: the playouts or calls, and the number of times, that it names. */

import { readDecision } from "happycity";

const [what, times] = (process.env.HAPPYCITY_ENGINE_SPEED as string).split(" ");
const world = readDecision(new URL("../../../conformance/first.decision", import.meta.url)).decision.position(1n);
const moves = world.legalMoves;
const action = what === "playouts" ? () => world.playouts(moves) : () => world.copy().apply(moves[0] as number);
for (let i = Number(times); i > 0; i--) action();
