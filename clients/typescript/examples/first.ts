import { run } from "happycity";

/** Buys the dearest card there is, and takes any special. */
await run(() => ({ moves }) => {
  const prices = moves.map(({ kind }) => {
    switch (kind?.$case) {
      case "build":
      case "dwell":
        return kind.value.price;
      case "take":
        return 100;
      default:
        return 0;
    }
  });
  return prices.indexOf(Math.max(...prices)); // the first move, the neutral one, if nothing can be bought
});
