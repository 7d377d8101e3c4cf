/**
 * Return a function like `Math.random` whose numbers follow from a seed, such as `GameStarted.seed`.
 *
 * The generator is mulberry32 by Tommy Ettinger, with a period of 2^32 numbers of 32 random bits.
 */
export function seededRandom(seed: bigint): () => number {
  let state = Number(BigInt.asUintN(32, seed ^ (seed >> 32n)));
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
