"""Prove the native engine equal to the Python rules, decision by decision, and count what the games reached.

    python -m tools engine-equality --games 100000

Movers play games of all sizes, modes and scorings by the Python rules, and leave records with traces. Each
record is replayed by both: at every decision the whole position is compared, hidden orders and legal moves
included, and at some of them worlds, playouts, observations and open draws too. The first difference ends the
run; Ctrl+C ends it with the table of the games before.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from types import ModuleType
from typing import Any

from happycity import Config, Deal, Game, Mode, Move, Phase, Scoring
from happycity.records.record import Json, Recorder, trace
from happycity.records.replay import config_of, positions_of
from happycity.rules import moves as m
from happycity.rules.cards import SPECIALS, Card, CardKind
from happycity.rules.deals import CITY_SIZE, DECKS
from happycity.rules.effects import EFFECTS, effect_of
from happycity.rules.moves import MoveKind
from happycity.rules.views import EventKind
from happycity.wire.messages import view_message
from happycity_bots import ChampionBot, PlannerBot
from happycity_client import Decision
from happycity_envs.selfplay import Observations
from happycity_evaluation.features import position_rows
from happycity_evaluation.quick import fast_builders, play_out, quick_move
from happycity_evaluation.turn_strengths import champions_network
from tools.benchmarks.harness import parser
from tools.engine import load_engine
from tools.training.games import seated

KINDS = [Config(*each) for each in product(range(2, 6), Mode, Scoring)]
_EXPERT, _SUM, _OPEN, _BY_CONTRACT = 1, 2, 4, 8
_SELDOM = 100
"""One decision of this many is compared in all ways."""
_RARELY = 4
"""One of this many of those is the start of a game with open draws."""

Chooser = Callable[[Game, random.Random], Move]


class DifferenceError(Exception):
    """The two engines disagree."""


def position_bytes(game: Game, *, copied: int = 0) -> bytes:
    """Return the engine's byte form of a game, whose Sphinx has copied the special with this number."""
    config, is_open = game.config, game._open
    expert = config.mode is Mode.EXPERT
    flags = (
        _EXPERT * expert | _SUM * (config.scoring is Scoring.SUM) | (_OPEN if is_open else 0) | _BY_CONTRACT
    )
    box = game._box[0].number if expert and not is_open else 0
    parts = [
        bytes((1, flags, config.players, game.round, game.seat, game.phase, game._awaited + 1, box, copied)),
        game._seed.to_bytes(8, "little"),
        *(rebuilt.to_bytes(2, "little") for rebuilt in game._rebuilt),
        bytes(game.dwellings),
    ]
    lists = [game.centre, [card.number for card in game.specials]]
    for deck, pile in zip(game._decks, game.discard_piles, strict=True):
        lists += [deck, pile]
    parts += [bytes((len(cards), *cards)) for cards in lists]
    cities = game.cities
    for coins, uses, city in zip(cities.coins, cities.uses, cities.cards, strict=True):
        parts.append(coins.to_bytes(4, "little", signed=True))
        parts.append(bytes((uses, len(city), *(card.number for card in city))))
    return b"".join(parts)


def take_at_random(game: Game, rng: random.Random) -> Move:
    """Choose any move."""
    return rng.choice(game.legal_moves)


def collect(game: Game, rng: random.Random) -> Move:
    """Take specials whenever possible, and buy what conditions of specials still ask for."""
    return _buy_for(game, rng, game.specials)


def aim(game: Game, rng: random.Random) -> Move:
    """Collect for one special alone, another one at each seat, those that are hard to reach first."""
    moves = game.legal_moves
    target = sorted(game.specials, key=_ease)[game.seat % len(game.specials) :][:1]
    if game.phase is not Phase.SPECIAL:
        return _buy_for(game, rng, target)
    taken = [move for move in moves[1:] if move.card in target]
    if not taken:
        return moves[rng.random() < 0.1]
    # One that replaces a card waits for a dwelling, which leaves the game then.
    last = game.cities.cards[game.seat][-1]
    waits = effect_of(target[0]).replaces_last and last.kind is not CardKind.DWELLING and rng.random() < 0.8
    return moves[0] if waits else taken[0]


def _ease(special: Card) -> int:
    effect = effect_of(special)
    return 0 if effect.chooses_copy or effect.replaces_last else 10 - sum(special.condition.values())


def _buy_for(game: Game, rng: random.Random, specials: Sequence[Card]) -> Move:
    moves = game.legal_moves
    if game.phase is Phase.SPECIAL:
        return rng.choice(moves[1:])
    if game.phase is Phase.BUY and rng.random() < 0.9:
        seat, cities = game.seat, game.cities
        wanted = {
            colour
            for special in specials
            for colour, needed in special.condition.items()
            if cities.count(seat, colour) < needed
        }
        useful = [move for move in moves if move.card is not None and move.card.colour in wanted]
        return rng.choice(useful or moves)
    return rng.choice(moves)


def empty_a_deck(game: Game, rng: random.Random) -> Move:
    """Draw and buy from one deck alone, and discard only when it is empty: then few cards are rebuilt."""
    moves, deck = game.legal_moves, game._seed % len(DECKS) + 1
    if game.phase is Phase.DRAW:
        return m.DRAW[deck] if m.DRAW[deck] in moves else moves[-1]
    if game.phase is Phase.DISCARD:
        others = [move for move in moves[1:] if move.card is not None and move.card.deck != deck]
        if others:
            return others[0]
        empty = game.deck_sizes[deck - 1] == 0
        return moves[1] if empty and not game.discard_sizes[deck - 1] else moves[0]
    if game.phase is Phase.BUY:
        return next((move for move in moves if move.card is not None and move.card.deck == deck), moves[0])
    return moves[0] if game.phase is Phase.SPECIAL else rng.choice(moves)


def wait_long(game: Game, rng: random.Random) -> Move:
    """Buy rarely and discard always, from one deck above all: decks are rebuilt and rounds run out."""
    moves = game.legal_moves
    if game.phase is Phase.BUY and rng.random() < 0.93:
        return moves[0]
    if game.phase is Phase.DISCARD:
        return rng.choice(moves[1:])
    if game.phase is Phase.DRAW and rng.random() < 0.8:
        return moves[game.config.players % len(moves)]
    return rng.choice(moves)


def play_well(game: Game, rng: random.Random) -> Move:
    """Choose by the quick policy, mostly."""
    return quick_move(game) if rng.random() < 0.9 else rng.choice(game.legal_moves)


MOVERS: tuple[Chooser, ...] = (aim, take_at_random, collect, wait_long, empty_a_deck, play_well)


def traced_record(number: int) -> Json:
    """Return the record with traces of the game with a number: it decides kind of game, deal and movers."""
    rng = random.Random(f"happycity engine equality {number}")
    deal = Deal.shuffle(KINDS[number % len(KINDS)], seed=rng.getrandbits(64))
    # All seats play alike, or each in its own way.
    alike = MOVERS[number // len(KINDS) % len(MOVERS)]
    movers = [alike if number % 3 else rng.choice(MOVERS) for _ in range(deal.config.players)]
    game, recorder = Game(deal), Recorder(deal, trace=trace)
    while game.outcome is None:
        move = movers[game.seat](game, rng)
        recorder.add(game, move)
        game.apply(move)
    return recorder.record(game)


def decisions_of(record: Json) -> Iterator[tuple[Game, bytes]]:
    """Yield the game of a record at each decision and at its end, with the engine's bytes for it."""
    copied = 0
    for game in positions_of(record):
        for event in game.events:
            if event.kind is EventKind.COPY and event.card is not None:
                copied = event.card.number
        yield game, position_bytes(game, copied=copied)


class Equality:
    """Compares the engines on records."""

    def __init__(self, engine: ModuleType) -> None:
        self._engine = engine
        self._network = champions_network().native
        self.reached: Counter[str] = Counter()
        """What games reached, by its name: how often."""
        self._observations = {players: Observations(players) for players in range(2, 6)}

    def prove(self, numbers: range, progress: Callable[[int], None] = lambda _: None) -> None:
        """Compare the games with these numbers.

        Raises:
            DifferenceError: the engines disagree.
        """
        for number in numbers:
            record = json.loads(json.dumps(traced_record(number)))
            self.compare(record, random.Random(f"happycity engine search {number}"))
            progress(number)

    def compare(self, record: Json, rng: random.Random) -> None:
        """Replay a record by both engines.

        Raises:
            DifferenceError: they disagree; it says where.
        """
        position = self._engine.Position.deal(config_of(record), seed=record["deal"]["seed"])
        for number, (game, content) in enumerate(decisions_of(record), start=1):
            where = f"seed {record['deal']['seed']}, {record['config']}, decision {number}"
            self._same(where, position, game, content)
            self._count(game)
            if game.outcome is not None:
                break
            seldom = rng.randrange(_SELDOM) == 0
            if seldom or game.phase in (Phase.MARKET, Phase.SPECIAL, Phase.SPHINX):
                self._same_plan(where, position, game)
            if seldom:
                self._same_champion(where, position, game)
                self._same_search(where, position, game, rng)
            position.apply(Move.parse(record["moves"][number - 1]["move"]).index)
        self.reached["games"] += 1
        self._count_end(game)

    def _same(self, where: str, position: Any, game: Game, content: bytes) -> None:
        """Compare all that there is of a position."""
        _equal(where, "bytes", bytes(position), content)
        _equal(where, "legal moves", position.legal_moves, [move.index for move in game.legal_moves])
        outcome = game.outcome
        expected = outcome and (
            outcome.points,
            outcome.coins,
            outcome.inhabitants,
            outcome.hearts,
            outcome.ranks,
        )
        _equal(where, "outcome", position.outcome, expected)

    def _same_plan(self, where: str, position: Any, game: Game) -> None:
        """Compare what the planner thinks of each move."""
        self.reached[f"plan at {game.phase}"] += 1
        planner = seated(PlannerBot, game.config, game.seat, seed=0)
        assert isinstance(planner, PlannerBot)
        _equal(where, "plan", position.plan(), planner.weigh_in_python(Decision.of(game)))

    def _same_champion(self, where: str, position: Any, game: Game) -> None:
        """Compare what the champion's network thinks of each move."""
        self.reached["champion's plans"] += 1
        champion = seated(ChampionBot, game.config, game.seat, seed=0)
        assert isinstance(champion, ChampionBot)
        native = self._engine.Champion(self._network)
        _equal(
            where, "champion", native.plan(position, ahead=True), champion.weigh_in_python(Decision.of(game))
        )

    def _same_search(self, where: str, position: Any, game: Game, rng: random.Random) -> None:
        """Compare what searches and learners ask of a position."""
        self.reached["decisions compared in all ways"] += 1
        view = game.view()
        fast, text = fast_builders(view), f"worlds {rng.random()}"
        moves, message = game.legal_moves, view_message(view).SerializeToString()
        worlds = self._engine.Worlds(message)
        _equal(
            where, "fast builders", [bool(worlds.fast >> seat & 1) for seat in range(len(fast))], list(fast)
        )
        python, native = random.Random(text), random.Random(text)
        for same in islice(Game.worlds(view, python), 2):
            world = worlds.sample_as_python(native)
            _equal(where, "randomness", native.getstate(), python.getstate())
            _equal(where, "world", bytes(world), position_bytes(same))
            _equal(where, "discards", same.discards, game.discards)
            _equal(where, "moves of a world", world.legal_moves, [move.index for move in same.legal_moves])
            for each in ((), fast):
                mask = worlds.fast if each else 0
                _equal(where, "quick move", world.quick_move(fast=mask), quick_move(same, each).index)
                move = rng.choice(moves)
                worth = play_out(same.copy(), move, each)
                _equal(where, "playout", world.playout(move.index, fast=mask), worth)
            self._same_next_turn(where, world, same, rng.choice(moves))
        _equal(where, "features", position.features(), position_rows(view))
        _equal(where, "read again", bytes(self._engine.Position.from_bytes(bytes(position))), bytes(position))
        observer = rng.randrange(game.config.players)
        row = self._observations[game.config.players].of(game, observer).tobytes()
        _equal(where, "observation", position.observation(observer), row)
        if rng.randrange(_RARELY) == 0:
            self._same_open(where, position.opened(), game.opened(), rng)

    def _same_next_turn(self, where: str, world: Any, same: Game, move: Move) -> None:
        """Compare the next turn of a seat, and its rows of features there."""
        later = world.next_turn(move.index)
        game, seat, played = same.copy(), same.seat, same.round
        game.apply(move)
        while game.outcome is None and (game.seat != seat or game.round == played):
            game.apply(quick_move(game))
        _equal(where, "next turn", later.legal_moves, [move.index for move in game.legal_moves])
        if game.outcome is None:
            self.reached["rows of features"] += game.config.players
            _equal(where, "features of the next turn", later.features(), position_rows(game.view()))

    def _same_open(self, where: str, position: Any, game: Game, rng: random.Random) -> None:
        """Play on with open draws to the end, by the collecting movers."""
        copied = 0
        while game.outcome is None:
            _equal(where, "open bytes", bytes(position), position_bytes(game))
            _equal(where, "awaited", position.awaited, tuple(card.number for card in game.awaited))
            if game.awaited:
                card = rng.choice(game.awaited)
                self.reached[f"open draws of {'the box' if game.phase is Phase.SPHINX else 'decks'}"] += 1
                copied = card.number
                game.reveal(card)
                position.reveal(card.number)
            else:
                move = collect(game, rng)
                if move.kind is MoveKind.COPY and move.number >= 0:
                    copied = game.cities.cards[move.number][game.cities.special_at[move.number]].number
                game.apply(move)
                position.apply(move.index)
        chose = any(effect.chooses_copy for effect in position_effects(game))
        self._same(where, position, game, position_bytes(game, copied=copied if chose else 0))

    def _count(self, game: Game) -> None:
        reached = self.reached
        reached["decisions"] += 1
        reached[f"step {game.phase}"] += 1
        for event in game.events:
            card = event.card
            if event.kind in (EventKind.TAKE, EventKind.EFFECT_PAID, EventKind.COPY) and card is not None:
                reached[f"{event.kind.name.lower().replace('_', ' ')} {card.id}"] += 1
            elif event.kind is EventKind.CARD_LOST and card is not None:
                reached[f"card lost: {card.kind.value}"] += 1

    def _count_end(self, game: Game) -> None:
        full = game.cities.longest == CITY_SIZE
        self.reached[f"ending: {'a full city' if full else 'round 30'}"] += 1
        self.reached[
            f"games of {game.config.players}, {game.config.mode.value}, {game.config.scoring.value}"
        ] += 1
        for deck, order in game.reshuffles:
            self.reached[f"deck {deck} rebuilt of {'one card' if len(order) == 1 else 'more cards'}"] += 1


def position_effects(game: Game) -> Iterator[Any]:
    """Yield the effects that the cities' own specials have, copied ones not counted."""
    for city in game.cities.cards:
        for card in city:
            if card in EFFECTS:
                yield EFFECTS[card]


def expected_reach() -> set[str]:
    """Return what some hundred games must reach for the proof to be one."""
    return {
        *(f"take {special.id}" for special in SPECIALS),
        *(f"effect paid {special.id}" for special in SPECIALS if _pays(special)),
        *(f"step {phase}" for phase in Phase),
        *(f"plan at {phase}" for phase in Phase if phase is not Phase.OVER),
        *(f"games of {config.players}, {config.mode.value}, {config.scoring.value}" for config in KINDS),
        *(f"deck {deck} rebuilt of {size}" for deck in DECKS for size in ("one card", "more cards")),
        *(f"card lost: {kind.value}" for kind in (CardKind.BUILDING, CardKind.DWELLING)),
        *(
            "ending: a full city",
            "ending: round 30",
            "champion's plans",
            "open draws of decks",
            "open draws of the box",
        ),
    }


def expected_copies() -> set[str]:
    """Return what many thousand games must reach besides: each special that a Sphinx may copy."""
    return {f"copy {special.id}" for special in SPECIALS if special.effect and special.id != "sphinx"}


def _pays(special: Any) -> bool:
    effect = EFFECTS.get(special)
    return effect is not None and any(
        (effect.paid, effect.taken, effect.before_income, effect.with_income, effect.after_income)
    )


def _equal(where: str, what: str, native: object, rules: object) -> None:
    if native != rules:
        raise DifferenceError(f"{where}: {what}: the native engine has {native!r}, the rules have {rules!r}")


def table(reached: Counter[str], *, every: bool) -> str:
    """Return what was reached as a table of Markdown, all specials in one row unless `every`."""
    expected = expected_reach() | expected_copies()
    rows = ["| reached | times |", "|---|---:|"]
    names = sorted({*reached, *expected})
    for kind in () if every else ("take", "effect paid", "copy"):
        each = [name for name in names if name in expected and name.startswith(f"{kind} ")]
        counts = [reached[name] for name in each]
        names = [name for name in names if not name.startswith(f"{kind} ")]
        what = f"{kind}: {sum(map(bool, counts))} of {len(each)} specials, the rarest {min(counts):,} times"
        rows.append(f"| {what} | {sum(counts):,} |")
    return "\n".join(rows + [f"| {name} | {reached[name]:,} |" for name in names])


def main() -> None:
    """Compare some games and print what they reached."""
    options = parser(__doc__)
    options.add_argument("--games", type=int, default=500, help="the number of games")
    options.add_argument("--every", action="store_true", help="print a row for each special")
    options.add_argument("--copies", action="store_true", help="fail unless every special was copied too")
    options.add_argument("--first", type=int, default=0, help="the number of the first game")
    arguments = options.parse_args()
    numbers = range(arguments.first, arguments.first + arguments.games)
    equality = Equality(load_engine())
    reached = equality.reached
    try:
        equality.prove(numbers, partial(_report, numbers))
    except DifferenceError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print("interrupted: the table is that of the games before", file=sys.stderr)
    print(table(reached, every=arguments.every))
    expected = expected_reach() | (expected_copies() if arguments.copies else set())
    if missing := sorted(what for what in expected if not reached[what]):
        sys.exit(f"error: never reached: {', '.join(missing)}")


def _report(numbers: range, number: int) -> None:
    if (number + 1 - numbers.start) % 1000 == 0:
        print(
            f"{number + 1 - numbers.start:,} of {len(numbers):,} games are equal", file=sys.stderr, flush=True
        )


if __name__ == "__main__":
    main()
