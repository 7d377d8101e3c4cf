/**
 * Return a function like `Math.random` whose numbers follow from a seed, such as `GameStart.seed`.
 *
 * The generator is sfc32 by Chris Doty-Humphrey; numbers have 32 random bits.
 */
export function seededRandom(seed: bigint): () => number {
  let a = Number(BigInt.asIntN(32, seed));
  let b = Number(BigInt.asIntN(32, seed >> 32n));
  let c = 0;
  let counter = 1;
  const next = () => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return (sum >>> 0) / 2 ** 32;
  };
  for (let round = 0; round < 16; round++) next(); // until every bit of the seed matters
  return next;
}
