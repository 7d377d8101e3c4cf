/**
 * The native engine, a model of the game for searches: the same rules as the arena's. It works in Node and in browsers.
 *
 * Moves are their numbers, in the order of `Decision.moves`, and cards those of `Card`. What is refused throws a
 * RangeError and changes nothing.
 */

import { WASM } from "./engine-wasm.js";

/** The numbers of a game's end, each by seat; rank 1 is first, and equal seats share a rank. */
export interface Outcome {
  readonly points: readonly number[];
  readonly coins: readonly number[];
  readonly inhabitants: readonly number[];
  readonly hearts: readonly number[];
  readonly ranks: readonly number[];
}

/** The functions of happycity_engine.h. Their numbers are addresses, sizes, moves and cards, and a bigint is a seed. */
type Call = "legal_moves" | "apply" | "playouts" | "random_playout" | "quick_move" | "next_turn" | "outcome" | "score";
type Name = `happycity_${"buffer" | "deal" | "sample" | "fast" | Call | "opened" | "awaited" | "reveal"}`;
type Exports = Readonly<Record<Name, (...numbers: (number | bigint)[]) => number>> & {
  readonly memory: { readonly buffer: ArrayBuffer };
};

/** As much of WebAssembly as is used, so that types of browsers aren't needed. */
declare const WebAssembly: {
  Module: new (content: Uint8Array) => object;
  Instance: new (module: object) => { readonly exports: unknown };
};

const REFUSALS = [
  "not the bytes of a position or view",
  "no game can look like this",
  "the move is not legal here, the card is not awaited, or a number is out of range",
  "a card is awaited; reveal it first",
];

const LIST = 3072;
const OUT = 3584;
let started: ReturnType<typeof start> | undefined;

/** Start the engine. Of its memory, which never grows, we have room for input, for a list, and for output. */
function start() {
  const content = Uint8Array.from(atob(WASM), (byte) => byte.charCodeAt(0));
  const call = new WebAssembly.Instance(new WebAssembly.Module(content)).exports as Exports;
  const at = call.happycity_buffer();
  return { call, bytes: new Uint8Array(call.memory.buffer), at, list: at + LIST, out: at + OUT };
}

/** Return the engine, which is compiled at first use. */
function engine() {
  started ??= start();
  return started;
}

/** Return a result of the engine. */
function checked(result: number): number {
  if (result < 0) throw new RangeError(REFUSALS[-1 - result]);
  return result;
}

/** Write a position or view for the engine, and return its size. */
function put(bytes: Uint8Array): number {
  const own = engine();
  if (bytes.length > LIST) throw new RangeError(REFUSALS[0]);
  own.bytes.set(bytes, own.at);
  return bytes.length;
}

/** Write moves for the engine, and return their number. */
function putList(numbers: readonly number[]): number {
  const { bytes, list } = engine();
  if (numbers.length > OUT - LIST) throw new RangeError(REFUSALS[2]);
  bytes.set(numbers, list);
  // Only a number of a byte is what was written.
  if (numbers.some((number, i) => bytes[list + i] !== number)) throw new RangeError(REFUSALS[2]);
  return numbers.length;
}

/** A game at a decision, or at its end. */
export class Position {
  #bytes: Uint8Array;

  private constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Start a game on the deal that the arena shuffles from a seed. */
  static deal(config: { players: number; expert?: boolean; sum?: boolean; seed: bigint }): Position {
    const { call, out } = engine();
    const { players, expert = false, sum = false, seed } = config;
    return Position.#of(call.happycity_deal(players, Number(expert), Number(sum), seed, out));
  }

  /** Return the position that `bytes` wrote. */
  static fromBytes(bytes: Uint8Array): Position {
    const position = new Position(bytes.slice());
    position.legalMoves; // which checks it
    return position;
  }

  /** Make a position of the engine's output, which has this size. */
  static #of(size: number): Position {
    const { bytes, out } = engine();
    return new Position(bytes.slice(out, out + checked(size)));
  }

  /** Draw a world that looks like a view: {@link Worlds.sample}. */
  static sample(view: Uint8Array, seed: bigint): Position {
    const { call, at, out } = engine();
    return Position.#of(call.happycity_sample(at, put(view), seed, out));
  }

  /** The position, to be read again. */
  get bytes(): Uint8Array {
    return this.#bytes.slice();
  }

  copy(): Position {
    return new Position(this.#bytes);
  }

  /** The current round, 1 to 30; 0 in the market draft. */
  get round(): number {
    return this.#bytes[3] ?? 0;
  }

  /** Whose decision it is. */
  get seat(): number {
    return this.#bytes[4] ?? 0;
  }

  /** The number of the step that waits, as in `Phase`. */
  get phase(): number {
    return this.#bytes[5] ?? 0;
  }

  /** The moves in the order of `Decision.moves`; none at the end, and while a card is awaited. */
  get legalMoves(): number[] {
    return this.#list("happycity_legal_moves");
  }

  /** How the game ended, once it is over. */
  get outcome(): Outcome | undefined {
    return this.#rows("happycity_outcome");
  }

  /** Return how the game would end if it ended now. */
  score(): Outcome {
    return this.#rows("happycity_score") as Outcome;
  }

  /** Play a legal move, then every forced one up to the next decision. */
  apply(move: number): void {
    this.#bytes = this.#next("happycity_apply", move).#bytes;
  }

  /** Return the same position without hidden orders: at each draw it awaits a card. */
  opened(): Position {
    return this.#next("happycity_opened");
  }

  /** The cards of which an open position awaits one, each as likely as the others. */
  get awaited(): number[] {
    return this.#list("happycity_awaited");
  }

  /** Let the awaited card be this one, and play on. */
  reveal(card: number): void {
    this.#bytes = this.#next("happycity_reveal", card).#bytes;
  }

  /** Return the choice of the quick policy; bit n of `fast` is set for a seat n that always buys. */
  quickMove(fast = 0): number {
    return this.#call("happycity_quick_move", fast);
  }

  /** Return how the seat does, -1 to 1, that plays a move, after which all play by the quick policy. */
  playout(move: number, fast = 0): number {
    return this.playouts([move], fast)[0] as number;
  }

  /** Return the playouts of some moves, which costs less than to ask for each. */
  playouts(moves: readonly number[], fast = 0): number[] {
    const own = engine();
    const count = putList(moves);
    this.#call("happycity_playouts", own.list, count, fast);
    return [...new Float64Array(own.bytes.buffer, own.out, count)];
  }

  /** Return the position before the seat's next turn, after a move and quick ones of all, or the end. */
  nextTurn(move: number): Position {
    return this.#next("happycity_next_turn", move);
  }

  /** Return how the game ends when all play at random. */
  randomPlayout(seed: bigint): Outcome {
    return this.#rows("happycity_random_playout", seed) as Outcome;
  }

  /** Call a function with this position, some numbers, and where to write. */
  #call(name: Name, ...numbers: (number | bigint)[]): number {
    const own = engine();
    if (numbers.some((each) => typeof each === "number" && each >>> 0 !== each)) throw new RangeError(REFUSALS[2]);
    return checked(own.call[name](own.at, put(this.#bytes), ...numbers, own.out));
  }

  #next(name: Name, ...numbers: number[]): Position {
    return Position.#of(this.#call(name, ...numbers));
  }

  #list(name: Name): number[] {
    const { bytes, out } = engine();
    return [...bytes.subarray(out, out + this.#call(name))];
  }

  #rows(name: Name, ...numbers: bigint[]): Outcome | undefined {
    const { bytes, out } = engine();
    const players = this.#call(name, ...numbers);
    const rows = [...new Int32Array(bytes.buffer, out, 5 * players)];
    const row = (index: number) => rows.slice(index * players, (index + 1) * players);
    if (players === 0) return undefined;
    return { points: row(0), coins: row(1), inhabitants: row(2), hearts: row(3), ranks: row(4) };
  }
}

/** Samples positions that look like a view: what is hidden is drawn at random. */
export class Worlds {
  /** The rivals that have bought a card in every turn so far: bit n is set for seat n. */
  readonly fast: number;

  /** Take a view as a message's bytes. */
  constructor(private readonly view: Uint8Array) {
    const own = engine();
    this.fast = checked(own.call.happycity_fast(own.at, put(view)));
  }

  /** Draw a world. */
  sample(seed: bigint): Position {
    return Position.sample(this.view, seed);
  }
}
