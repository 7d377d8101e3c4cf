/** Plays any legal move, all equally likely. */

import { run, seededRandom } from "happycity";

await run(
  ({ seed }) => {
    const random = seededRandom(seed);
    return ({ moves }) => Math.floor(random() * moves.length);
  },
  { games: 0 },
);
