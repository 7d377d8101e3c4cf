import type { BotFactory, Decision } from "happycity";

/** Playouts of all moves of a decision together, at most. */
const PLAYOUTS = 800;

/**
 * Make a bot that searches with the native engine: it plays moves out in sampled worlds, good ones most often.
 *
 * Sequential halving: the playouts of a decision are shared among a few stages, and after each the worse half of the
 * moves is dropped. All moves are tried in the same worlds, so that luck cancels out. The worlds' seeds count up from
 * the game's, so `happycity ask` repeats each choice.
 */
export const searcher: BotFactory =
  ({ seed }) =>
  (decision: Decision) => {
    let next = seed;
    let alive = decision.moves.map((_, place) => place);
    const moves = decision.position(0n).legalMoves;
    const worth = moves.map(() => 0);
    const stages = 32 - Math.clz32(moves.length - 1);
    for (let stage = 0; stage < stages; stage++) {
      for (let left = Math.floor(PLAYOUTS / (stages * alive.length)); left > 0; left--) {
        next = BigInt.asUintN(64, next + 1n);
        const world = decision.position(next);
        const values = world.playouts(alive.map((place) => moves[place] as number));
        alive.forEach((place, i) => {
          worth[place] = (worth[place] as number) + (values[i] as number);
        });
      }
      alive.sort((one, other) => (worth[other] as number) - (worth[one] as number));
      alive = alive.slice(0, Math.ceil(alive.length / 2));
    }
    return alive[0] as number;
  };
