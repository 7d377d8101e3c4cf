import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Decision, MoveKind, run } from "happycity";

/** Buy the most expensive card on offer, and take any special. */
export function choose({ moves }: Decision): number {
  // Coins are negative for a purchase.
  const prices = moves.map(({ kind, coins }) => (kind === MoveKind.TAKE ? 100 : Math.max(0, -coins)));
  return prices.indexOf(Math.max(...prices)); // the first move, the neutral one, if nothing can be bought
}

// Only the program connects: a test that imports this file doesn't.
if (fileURLToPath(import.meta.url) === realpathSync(process.argv[1] ?? ".")) await run(() => choose);
