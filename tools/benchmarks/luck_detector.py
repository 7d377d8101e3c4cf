"""Measure how often mean luck accuses honest bots, and after how many games it finds one that knows the deck.

The luck of games is computed once. Series of deals are drawn from them, with replacement, and a bot is
flagged as `tournament rate --luck-adjusted` does it. For honest bots the mean of all their luck is taken off
first, as it is 0 by construction. The bot that knows the deck is a planner that looks at the next card of
each deck, and takes the one that is worth most; it has one seat, planners have the others. Games are looked
at again and again, after each `STEP` of them, from `MIN_DEALS` on.
"""

from __future__ import annotations

import random

import numpy as np

from happycity import Config, Deal, Game, Mode, Move
from happycity.rules.moves import MoveKind
from happycity_bots import GreedyBot, PlannerBot, RandomBot
from happycity_evaluation.evaluator import Evaluator
from happycity_evaluation.luck import draws_of, total_luck
from happycity_tournament.ratings.columns import Floats
from happycity_tournament.ratings.mean_luck import MIN_DEALS, MOST_ERRORS
from tools.benchmarks.harness import parser
from tools.training.games import BotFactory, chosen, seated

STEP = 10
"""Deals from one look to the next."""
HONEST: tuple[BotFactory, ...] = (PlannerBot, GreedyBot, RandomBot)


def looking(game: Game, evaluator: Evaluator) -> Move:
    """Return the draw after which the seat's expected place is best, by the cards that will come."""
    seat = game.seat

    def place(move: Move) -> float:
        after = game.copy()
        after.apply(move)
        return evaluator.values(after)[seat].place

    return min(game.legal_moves, key=place)


def luck_of_a_game(deal: Deal, evaluator: Evaluator, *, looks: bool) -> float:
    """Return what seat 0 won by luck, in places; it looks at the deck, or all seats are honest bots."""
    rng, game, moves = random.Random(deal.seed), Game(deal), list[Move]()
    lineup = [PlannerBot if looks else rng.choice(HONEST) for _ in range(deal.config.players)]
    bots = [seated(bot, deal.config, seat, seed=deal.seed) for seat, bot in enumerate(lineup)]
    while game.outcome is None:
        knows = looks and game.seat == 0 and game.legal_moves[0].kind is MoveKind.DRAW
        moves.append(looking(game, evaluator) if knows else chosen(bots[game.seat], game))
        game.apply(moves[-1])
    return total_luck(draws_of(Game(deal), moves, evaluator.after_cards), deal.config.players)[0]


def flagged_after(lucks: Floats, *, series: int, longest: int, rng: np.random.Generator) -> Floats:
    """Return after how many deals each series of drawn lucks is flagged, infinity if it never is."""
    drawn = rng.choice(lucks, size=(series, longest))
    counts = np.arange(1, longest + 1)
    means = np.cumsum(drawn, axis=1) / counts
    squares = np.maximum(0.0, np.cumsum(drawn**2, axis=1) - counts * means**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviations = means / np.sqrt(squares / np.maximum(1, counts - 1) / counts)
    looked_at = (counts >= MIN_DEALS) & (counts % STEP == 0)
    flags = (deviations > MOST_ERRORS) & looked_at
    first: Floats = np.where(flags.any(axis=1), counts[flags.argmax(axis=1)], np.inf)
    return first


def main() -> None:
    """Print a row for each kind of table."""
    options = parser(__doc__)
    options.add_argument("--games", type=int, default=400, help="games of each row whose luck is computed")
    options.add_argument("--series", type=int, default=20_000, help="series that are drawn from them")
    options.add_argument("--seed", type=int, default=9 * 10**9, help="the seed of the first deal")
    chosen_options = options.parse_args()
    evaluator, longest = Evaluator(), 1000
    print(f"evaluator {evaluator.digest}, flagged above {MOST_ERRORS:g} standard errors")
    print(
        "| bot | seats | mode | mean luck, places | flagged in 100 | 300 | 1,000 deals | half found after |"
    )
    print("|---|---:|---|---:|---:|---:|---:|---:|")
    for looks in (False, True):
        for mode in Mode:
            for players in (2, 4):
                lucks = np.array(
                    [
                        luck_of_a_game(
                            Deal.shuffle(
                                Config(players=players, mode=mode), seed=chosen_options.seed + number
                            ),
                            evaluator,
                            looks=looks,
                        )
                        for number in range(chosen_options.games)
                    ]
                )
                mean, error = lucks.mean(), lucks.std(ddof=1) / len(lucks) ** 0.5
                after = flagged_after(
                    lucks if looks else lucks - mean,
                    series=chosen_options.series,
                    longest=longest,
                    rng=np.random.default_rng(1),
                )
                shares = " | ".join(f"{(after <= deals).mean():.2%}" for deals in (100, 300, longest))
                half = f"{np.median(after):.0f}" if looks else ""
                print(
                    f"| {'looks at the next cards' if looks else 'honest'} | {players} | {mode.value} "
                    f"| {mean:+.3f} ±{1.96 * error:.3f} | {shares} | {half} |",
                    flush=True,
                )
