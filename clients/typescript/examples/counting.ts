import {
  type Bot,
  type Card,
  type Decision,
  EventKind,
  type GameOver,
  type GameStart,
  run,
  seededRandom,
} from "happycity";

/** Plays at random, and counts the cards that it sees. */
class Counting implements Bot {
  readonly #seat: number;
  readonly #random: () => number;
  readonly #seen = new Set<Card>();

  constructor({ seat, seed }: GameStart) {
    this.#seat = seat;
    this.#random = seededRandom(seed); // a match that is played again goes the same way
  }

  choose({ events, moves }: Decision): number {
    for (const { kind, card } of events) {
      if (kind === EventKind.DRAW) this.#seen.add(card);
    }
    return Math.floor(this.#random() * moves.length);
  }

  gameOver({ places, outcome }: GameOver): void {
    const points = outcome.points[this.#seat];
    console.log(`place ${places[this.#seat]} with ${points} points; saw ${this.#seen.size} cards`);
  }
}

await run((start) => new Counting(start));
