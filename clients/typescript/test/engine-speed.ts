/** Prints TypeScript's row of the table of speed in docs/engine.md: node dist/test/engine-speed.js */

import { readDecision } from "happycity";

const world = readDecision(new URL("../../../conformance/first.decision", import.meta.url)).decision.position(1n);
const moves = world.legalMoves;

/** Return how often something is done in a CPU second. */
function perSecond(action: () => void): number {
  for (let count = 0, began = process.cpuUsage(); ; count += 16) {
    for (let i = 0; i < 16; i++) action();
    const { user, system } = process.cpuUsage(began);
    if (user + system > 1e6) return Math.round((count / (user + system)) * 1e6);
  }
}

const playouts = moves.length * perSecond(() => world.playouts(moves));
const calls = perSecond(() => world.copy().apply(moves[0] as number));
process.stdout.write(`| TypeScript, Node ${process.versions.node} | ${playouts} | ${calls} |\n`);
