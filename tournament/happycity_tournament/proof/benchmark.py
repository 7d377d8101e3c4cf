"""Benchmarks: named protocols by which a bot is measured, and results that others can recompute."""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from happycity import Config, ConfigError, Ending, FailurePolicy, Mode, ReplayError, TimeControl
from happycity.errors import FieldError, suggestion
from happycity.records.record import Json
from happycity.records.replay import metrics_of
from happycity.rules.deals import DEALING, EDITION
from happycity_tournament.config import Gauntlet, TournamentConfig
from happycity_tournament.games import WIN, Result, half_points
from happycity_tournament.lineup import BotEntry
from happycity_tournament.plain_json import plain_json
from happycity_tournament.proof.commitment import MAX_TEXT, canonical, digest_of, rules_version
from happycity_tournament.proof.incidents import Conditions, unanswered
from happycity_tournament.proof.publication import GAMES_FILE, Publication, VerificationError, write_lines
from happycity_tournament.proof.tournament_proof import check_sample, game_line, recount
from happycity_tournament.ratings.comparison import elo_difference, mean_difference
from happycity_tournament.ratings.statistics import student_margin
from happycity_tournament.storage.sources import Source

BENCHMARK_FILE = "benchmark.json"
CANDIDATE = "candidate"
"""The name under which the bot that is measured plays."""
POOL = ("greedy", "planner", "search", "learner", "champion")
"""The reference bots that are its opponents, by the names under which they play too."""
COLUMN_DEALS, LITE_COLUMN_DEALS = 120, 12
"""The deals on which each of them is met; those of a lite protocol, for bots whose decisions cost seconds."""
_BEACON = re.compile(rf"[ -~]{{1,{MAX_TEXT}}}")
_LEFT_OUT = ("clock", "metrics")
"""Keys of records that a published game is without, as they differ from run to run."""
_VERSIONS = {"rules": EDITION, "dealing": DEALING}


@dataclass(frozen=True, slots=True)
class Protocol:
    """A way of measuring a bot that never changes: what changes it gets another name."""

    players: int
    mode: Mode
    pool_play: str
    """The first 64 bits of the SHA-256 of what the opponents play against each other on some deals."""
    column_deals: int = COLUMN_DEALS
    """The deals on which each opponent is met."""

    @property
    def name(self) -> str:
        """The name with its version, as papers quote it."""
        lite = "-lite" if self.column_deals == LITE_COLUMN_DEALS else ""
        return f"HappyCity-{self.players}-{self.mode.value}{lite}-v4"

    @property
    def deals(self) -> int:
        """All its deals."""
        return self.column_deals * len(POOL) // (self.players - 1)

    def deals_for(self, games: int) -> int:
        """Return the deals of the fewest whole cycles that have this number of games, at most all."""
        return min(self.deals, len(POOL) * math.ceil(games / (len(POOL) * self.players)))

    def config(self, deals: int | None = None, *, beacon: str | None = None) -> TournamentConfig:
        """Return the tournament: the candidate has every seat once on each deal, or on the first ones.

        The deals follow from the protocol's name, and from a `beacon` if there is one. A ConfigError if that
        can't be one.
        """
        if beacon is not None and not _BEACON.fullmatch(beacon):
            raise FieldError("beacon", f"{beacon[:80]!a} is not 1 to {MAX_TEXT} printable ASCII characters")
        return TournamentConfig(
            bots=(CANDIDATE, *POOL),
            game=Config(players=self.players, mode=self.mode),
            format=Gauntlet(challengers=(CANDIDATE,), cycles=(deals or self.deals) // len(POOL)),
            seed=self.name if beacon is None else f"{self.name} {beacon}",
            # Without clocks a slow machine plays the same games; what a bot costs stands in the result.
            time=TimeControl(no_clock=True, connect_seconds=60.0),
            policy=FailurePolicy(disqualify_share=0.0),
            concurrency=256,
        )

    @property
    def digest(self) -> str:
        """The SHA-256 of all that fixes its games and how they are counted."""
        config = self.config().json()
        fixed = {key: config[key] for key in ("bots", "game", "format", "seed", "policy")}
        return digest_of({**fixed, **_VERSIONS, "pool_play": self.pool_play})


_PLAY = {
    Mode.FAMILY: ("447aa9ea8ee46f6a", "3706b241e1195d46", "a68ad702f1fb971b", "e540ad50d0dd967d"),
    Mode.EXPERT: ("fee3f09ed79b9222", "ed52f375821f0932", "4ccd72ec22289240", "3dbba7932f826534"),
}
PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for mode, digests in _PLAY.items()
    for players, play in enumerate(digests, start=2)
    for protocol in (Protocol(players, mode, play), Protocol(players, mode, play, LITE_COLUMN_DEALS))
}
"""All protocols by their names."""


def protocol_named(name: str) -> Protocol:
    """Return the protocol with a name, or raise a ConfigError."""
    if name not in PROTOCOLS:
        raise ConfigError(f"PROTOCOL: there is no {name[:80]!a}; {suggestion(name[:80], list(PROTOCOLS))}")
    return PROTOCOLS[name]


def write_benchmark(
    source: Source,
    protocol: Protocol,
    folder: Path,
    *,
    bot: BotEntry,
    deals: int,
    cost: Json,
    processes: int,
    beacon: str | None = None,
) -> Json:
    """Write games and result of a finished benchmark of `bot` into a folder, and return the result.

    Fewer `deals` than the protocol has are a try. `beacon` is that of its deals. `cost` is `cpu_seconds` and
    others that the games don't show; decisions and notes are added.

    Raises:
        ConfigError: a game has no record.
        VerificationError: the games are not those of the protocol.
    """
    notes = Counter[str]()
    write_lines(folder / GAMES_FILE, _lines(source, notes))
    known = {
        "protocol": protocol.name,
        "deals": deals,
        "beacon": beacon,
        "bot": bot.model_dump(exclude_none=True, exclude={"join", "hosted"}),
        "stated": plain_json(
            {
                **cost,
                "decisions": notes.pop("decisions"),
                "notes": notes,
                "versions": {"happycity": version("happycity"), "engine": rules_version()},
            }
        ),
    }
    return _BENCHMARKS.write_results(folder, known, processes=processes)


def verify_benchmark(
    folder: Path, *, asked: int, processes: int, beacon: str | None = None, rng: random.Random | None = None
) -> Json:
    """Recompute a result from its games, and return it; in `asked` games reference bots choose again.

    `rng` draws these games, by default so that nobody can foresee them. The deals have to be those of
    `beacon` if one is given.

    Raises:
        ConfigError: it is not the folder of a result, or its protocol isn't known here.
        VerificationError: something in it is not what it has to be.
    """
    content = _BENCHMARKS.read_results(folder)
    protocol = protocol_named(str(content.get("protocol")))
    deals, bot, own_beacon = (content.get(key) for key in ("deals", "bot", "beacon"))
    if (
        type(deals) is not int
        or not 1 <= deals <= protocol.deals
        or deals % len(POOL)
        or not isinstance(bot, dict)
        or not isinstance(own_beacon, str | None)
    ):
        raise VerificationError(f"{BENCHMARK_FILE}: bot, deals, beacon: malformed")
    try:
        config = protocol.config(deals, beacon=own_beacon)
    except ConfigError as error:
        raise VerificationError(f"{BENCHMARK_FILE}: {error}") from None
    if beacon is not None and own_beacon != beacon:
        source = "the name alone" if own_beacon is None else f"{own_beacon!a:.80}"
        raise VerificationError(f"--beacon: the deals follow from {source}")
    _BENCHMARKS.check_results(content, folder, processes=processes)
    played_by = dict(zip(POOL, POOL, strict=True)) | {CANDIDATE: bot.get("builtin")}
    games = range(content["games"])
    chosen = (rng or random.SystemRandom()).sample(games, min(asked, len(games)))
    check_sample(folder, played_by, chosen, config, processes=processes)
    return content


def _lines(source: Source, notes: Counter[str]) -> Iterator[bytes]:
    """Yield the games without times and notes, which differ from run to run.

    The candidate's decisions and the sums of its notes, such as `tokens_in`, are added to `notes`.
    """
    for game, text in source.games(with_records=True):
        line = json.loads(game_line((game, text)))
        record, seat = line["record"], game.bots.index(CANDIDATE)
        notes["decisions"] += sum(move["seat"] == seat for move in record["moves"])
        for mover, numbers in metrics_of(record):
            if mover == seat:
                notes.update(numbers)
        line["record"] = {key: record[key] for key in record if key not in _LEFT_OUT}
        yield canonical(line) + b"\n"


def _recompute(known: Json, folder: Path, processes: int) -> Json:
    """Return what has to be in a result by the games of its folder, and by what they don't show."""
    protocol, deals, beacon = protocol_named(known["protocol"]), known["deals"], known.get("beacon")
    config = protocol.config(deals, beacon=beacon)
    _, results, chain = recount(
        config, folder, first=protocol.digest, processes=processes, check=_check_record
    )
    result = {
        "format": _BENCHMARKS.format,
        "protocol": protocol.name,
        "protocol_digest": protocol.digest,
        **_VERSIONS,
        "deals": deals,
        "column_deals": deals * (protocol.players - 1) // len(POOL),
        "beacon": beacon,
        "complete": deals == protocol.deals,
        "games": len(results),
        "chain": chain,
        **plain_json(_figures(results)),
        "bot": known["bot"],
    }
    return {**result, "hash": digest_of(result), "stated": known.get("stated")}


def _check_record(record: Json, config: Conditions) -> set[int]:
    """Refuse incidents of the opponents, and what differs from run to run, by a ReplayError."""
    if extra := record.keys() & _LEFT_OUT:
        raise ReplayError(f"{min(extra)}: games of a benchmark are without it")
    return unanswered(record, config, faultless=POOL)


_BENCHMARKS = Publication(BENCHMARK_FILE, "happycity-benchmark/2", _recompute)


def _figures(results: Sequence[Result]) -> Json:
    """Return what the candidate reached: against all, against each opponent, and its points and places."""
    seats = [(result, result.bots.index(CANDIDATE)) for result in results]
    columns = {bot: _measured([each for each in seats if bot in each[0].bots], [bot]) for bot in POOL}
    places = Counter(result.places[seat] for result, seat in seats)
    endings = [result.endings[seat] for result, seat in seats if result.endings]
    return {
        **_measured(seats, POOL),
        "columns": columns,
        "worst": min(POOL, key=lambda bot: columns[bot]["score"].value),
        "points": float(np.mean([result.points[seat] for result, seat in seats])),
        "opponents_points": float(np.mean([np.delete(result.points, seat).mean() for result, seat in seats])),
        "places": [places[place] for place in range(1, len(results[0].bots) + 1)],
        "forfeits": len(endings) - endings.count(Ending.FINISHED),
    }


def _measured(seats: Sequence[tuple[Result, int]], opponents: Collection[str]) -> Json:
    """Return score and Elo of the candidate, which sits in these seats, against some opponents.

    A protocol fixes the number of deals, so the margins are those for one look.
    """
    scores = np.array([_score(result, seat, opponents) for result, seat in seats])
    deals = np.array([result.deal_seed for result, _ in seats])
    return {
        "score": mean_difference(np.zeros(len(scores)), scores, deals=deals, margin=student_margin),
        "elo": elo_difference(np.full(len(scores), 0.5), scores, deals=deals, margin=student_margin),
    }


def _score(result: Result, seat: int, opponents: Collection[str]) -> float:
    """Return the share of the opponents at a table that a seat ended before, a shared place as half."""
    places = [place for bot, place in zip(result.bots, result.places, strict=True) if bot in opponents]
    return sum(half_points(result.places[seat], place) for place in places) / (WIN * len(places))
