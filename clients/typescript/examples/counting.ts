import {
  type Bot,
  type Card,
  type Decision,
  EventKind,
  type GameOver,
  type GameStarted,
  run,
  seededRandom,
} from "happycity";

/** Plays at random, and counts the cards that it sees. */
class Counting implements Bot {
  readonly #seat: number;
  readonly #random: () => number;
  readonly #seen = new Set<Card>();

  constructor({ seat, seed }: GameStarted) {
    this.#seat = seat;
    this.#random = seededRandom(seed); // a match that is played again goes the same way
  }

  choose({ events, moves }: Decision): number {
    for (const { kind, card } of events) {
      if (kind === EventKind.DRAW) this.#seen.add(card);
    }
    return Math.floor(this.#random() * moves.length);
  }

  gameOver({ seats }: GameOver): void {
    const own = seats[this.#seat];
    console.log(`place ${own?.place} with ${own?.points} points; saw ${this.#seen.size} cards`);
  }
}

await run((start) => new Counting(start));
