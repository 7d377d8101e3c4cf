import {
  type Card,
  CardKind,
  Colour,
  type Decision,
  infoOf,
  Mode,
  type Move,
  MoveKind,
  Scoring,
  type SeatState,
  type View,
} from "happycity";

/** A city with fewer cards than this one (the Happy Market counts) is early: it looks for income. */
const EARLY_CARDS = 5;

/** The purse from which decks 1, 2 and 3 are drawn: the cheapest card of the deck. */
const DECK_PURSE = [1, 4, 6];

/**
 * Take the best immediate gain: income early, points late. All is in integers, and "first" always means in the order of
 * the moves.
 *
 * - Market: for the colour of each market offered, count the specials on the table whose condition has that colour; the
 *   first market with the highest count.
 * - Discard: nothing.
 * - Draw: the highest deck whose cheapest card the own purse can pay; if there is none, the first move.
 * - Buy, special and Sphinx: the first move with the highest score, see `City.score`; a move without a card scores 0.
 *
 * It ignores effects, other cities (except for the special that the Sphinx would copy), the price of a card that it can
 * pay, and randomness.
 *
 * @returns the position of a move.
 */
export function chooseGreedily({ moves, seat, view }: Decision): number {
  const own = view.seats[seat];
  if (own === undefined) throw new RangeError(`the view has no seat ${seat}`);
  switch (moves[0]?.kind) {
    case MoveKind.KEEP:
      return 0;
    case MoveKind.DRAW:
      return richestDraw(moves, own.coins);
    case MoveKind.MARKET:
      return firstBest(moves, marketScore(view));
    default:
      return firstBest(moves, cardScore(view, new City(own, view.config.scoring)));
  }
}

/** Return the position of the first move with the highest score. */
function firstBest(moves: readonly Move[], score: (move: Move) => number): number {
  const scores = moves.map(score);
  return scores.indexOf(Math.max(...scores));
}

function richestDraw(moves: readonly Move[], coins: number): number {
  const affordable = moves.map(({ deck }) => (DECK_PURSE[deck - 1] ?? Infinity) <= coins);
  return Math.max(0, affordable.lastIndexOf(true));
}

function marketScore({ specials }: View): (move: Move) => number {
  const wanted = new Map<Colour, number>();
  for (const special of specials) {
    for (const { colour } of infoOf(special).condition) wanted.set(colour, (wanted.get(colour) ?? 0) + 1);
  }
  return ({ card }) => wanted.get(infoOf(card).colour ?? Colour.UNSPECIFIED) ?? 0;
}

function cardScore(view: View, own: City): (move: Move) => number {
  return (move) => {
    const card = gained(move, view);
    return card === undefined ? 0 : own.score(card);
  };
}

/** Return the card whose values a move brings to the own city, if it brings any. */
function gained({ kind, card, seat }: Move, view: View): Card | undefined {
  switch (kind) {
    case MoveKind.BUILD:
    case MoveKind.DWELL:
    case MoveKind.TAKE:
      return card;
    case MoveKind.COPY:
      return seat === undefined ? undefined : specialOf(view, seat);
    default:
      return undefined;
  }
}

/** Return the special that the Sphinx would copy from another city. */
function specialOf(view: View, seat: number): Card | undefined {
  return view.seats[seat]?.city.find((card) => infoOf(card).kind === CardKind.SPECIAL);
}

/** What greedy needs to know of a city, the sums of the printed values. */
class City {
  readonly #early: boolean;
  readonly #scoring: Scoring;
  #inhabitants = 0;
  #hearts = 0;

  constructor({ city }: SeatState, scoring: Scoring) {
    this.#early = city.length < EARLY_CARDS;
    this.#scoring = scoring;
    for (const card of city) {
      const { inhabitants, hearts } = infoOf(card);
      this.#inhabitants += inhabitants;
      this.#hearts += hearts;
    }
  }

  /**
   * Return what a card is worth: early its income and symbols, late the points that it adds, then its symbols, then its
   * income. A special with an effect is worth 1 more for each card in its condition.
   */
  score(card: Card): number {
    const { income, inhabitants, hearts, condition, specialSet } = infoOf(card);
    const worth = this.#early
      ? 4 * income + inhabitants + hearts
      : 100 * this.#pointsAdded(inhabitants, hearts) + 10 * (inhabitants + hearts) + income;
    // All specials of the expert game have an effect, and no others.
    if (specialSet !== Mode.EXPERT) return worth;
    return condition.reduce((sum, { count }) => sum + count, worth);
  }

  #pointsAdded(inhabitants: number, hearts: number): number {
    return this.#points(inhabitants, hearts) - this.#points(0, 0);
  }

  /** Return the points of the city with some symbols more; each total counts at least 0. */
  #points(inhabitants: number, hearts: number): number {
    const allInhabitants = Math.max(0, this.#inhabitants + inhabitants);
    const allHearts = Math.max(0, this.#hearts + hearts);
    return this.#scoring === Scoring.SUM ? allInhabitants + allHearts : allInhabitants * allHearts;
  }
}
