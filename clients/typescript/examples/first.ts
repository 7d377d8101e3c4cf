import { MoveKind, run } from "happycity";

/** Buys the most expensive card on offer, and takes any special. */
await run(() => ({ moves }) => {
  // Coins are negative for a purchase.
  const prices = moves.map(({ kind, coins }) => (kind === MoveKind.TAKE ? 100 : Math.max(0, -coins)));
  return prices.indexOf(Math.max(...prices)); // the first move, the neutral one, if nothing can be bought
});
