"""Benchmarks: named protocols by which a bot is measured, and results that others can recompute."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from happycity import Config, ConfigError, Ending, FailurePolicy, Mode, TimeControl
from happycity.errors import suggestion
from happycity.records.record import Json
from happycity.records.replay import metrics_of
from happycity.rules.deals import DEALING, EDITION
from happycity_tournament.config import Gauntlet, TournamentConfig
from happycity_tournament.games import WIN, Result, half_points
from happycity_tournament.lineup import BotEntry
from happycity_tournament.plain_json import plain_json
from happycity_tournament.proof.commitment import canonical, digest_of, engine_digest
from happycity_tournament.proof.publication import (
    GAMES_FILE,
    Publication,
    VerificationError,
    write_lines,
)
from happycity_tournament.proof.tournament_proof import check_sample, game_line, recount
from happycity_tournament.ratings.comparison import elo_difference, mean_difference
from happycity_tournament.storage.sources import Source

BENCHMARK_FILE = "benchmark.json"
CANDIDATE = "candidate"
"""The name under which the bot that is measured plays."""
OPPONENT = "planner"
"""The reference bot in all other seats."""
DEALS, LITE_DEALS = 500, 10
"""The deals of a protocol, and of a lite one, for bots whose decisions cost seconds."""
_VERSIONS = {"rules": EDITION, "dealing": DEALING}


@dataclass(frozen=True, slots=True)
class Protocol:
    """A way of measuring a bot that never changes: what changes it gets another name."""

    players: int
    mode: Mode
    opponent_play: str
    """The first 64 bits of the SHA-256 of what the opponent plays on ten deals against itself."""
    deals: int = DEALS

    @property
    def name(self) -> str:
        """The name with its version, as papers quote it."""
        lite = "-lite" if self.deals == LITE_DEALS else ""
        return f"HappyCity-{self.players}-{self.mode.value}{lite}-v1"

    @property
    def bots(self) -> tuple[str, ...]:
        """The names of the candidate and its opponents."""
        return (CANDIDATE, OPPONENT, *(f"{OPPONENT}-{number}" for number in range(2, self.players)))

    def config(self, deals: int | None = None) -> TournamentConfig:
        """Return the tournament: the candidate has every seat once on each deal, or on the first ones."""
        return TournamentConfig(
            bots=self.bots,
            game=Config(players=self.players, mode=self.mode),
            format=Gauntlet(challengers=(CANDIDATE,), cycles=deals or self.deals),
            seed=1,
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
        return digest_of({**fixed, **_VERSIONS, "name": self.name, "opponent_play": self.opponent_play})


_PLAY = {
    Mode.FAMILY: ("e4b16dafc0b99d79", "691d5dc6cb34853a", "16190f648e588517", "75b4368ce1b04810"),
    Mode.EXPERT: ("66e4118c96c9453a", "b4c2d4cf932eb791", "149be99a7c068bed", "e5cc35c5d939f365"),
}
PROTOCOLS: Mapping[str, Protocol] = {
    protocol.name: protocol
    for mode, digests in _PLAY.items()
    for players, play in enumerate(digests, start=2)
    for protocol in (Protocol(players, mode, play), Protocol(players, mode, play, LITE_DEALS))
}
"""All protocols by their names."""


def protocol_named(name: str) -> Protocol:
    """Return the protocol with a name, or raise a ConfigError."""
    if name not in PROTOCOLS:
        raise ConfigError(f"PROTOCOL: there is no {name[:80]!a}; {suggestion(name[:80], list(PROTOCOLS))}")
    return PROTOCOLS[name]


def write_benchmark(
    source: Source, protocol: Protocol, folder: Path, *, bot: BotEntry, deals: int, cost: Json, processes: int
) -> Json:
    """Write games and result of a finished benchmark of `bot` into a folder, and return the result.

    Fewer `deals` than the protocol has are a try. `cost` is `cpu_seconds` and others that the games don't
    show; decisions and notes are added.

    Raises:
        ConfigError: a game has no record.
        VerificationError: the games are not those of the protocol.
    """
    notes = Counter[str]()
    write_lines(folder / GAMES_FILE, _lines(source, notes))
    known = {
        "protocol": protocol.name,
        "deals": deals,
        "bot": bot.model_dump(exclude_none=True, exclude={"join"}),
        "versions": {"happycity": version("happycity"), "engine": engine_digest()},
        "cost": plain_json({**cost, "decisions": notes.pop("decisions"), "notes": notes}),
    }
    return _BENCHMARKS.write_results(folder, known, processes=processes)


def verify_benchmark(folder: Path, *, asked: int, processes: int) -> Json:
    """Recompute a result from its games, and return it; in `asked` games reference bots choose again.

    Raises:
        ConfigError: it is not the folder of a result, or its protocol isn't known here.
        VerificationError: something in it is not what it has to be.
    """
    content = _BENCHMARKS.read_results(folder)
    protocol, deals, bot = (
        protocol_named(str(content.get("protocol"))),
        content.get("deals"),
        content.get("bot"),
    )
    if type(deals) is not int or not 1 <= deals <= protocol.deals or not isinstance(bot, dict):
        raise VerificationError(f"{BENCHMARK_FILE}: bot, deals: malformed")
    _BENCHMARKS.check_results(content, folder, processes=processes)
    played_by = dict.fromkeys(protocol.bots, OPPONENT) | {CANDIDATE: bot.get("builtin")}
    games: int = content["games"]
    places = range(games)[:: max(1, games // max(1, asked))][:asked]
    check_sample(folder, played_by, places, protocol.config(deals).seed, processes=processes)
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
        line["record"] = {key: record[key] for key in record if key not in ("clock", "metrics")}
        yield canonical(line) + b"\n"


def _recompute(known: Json, folder: Path, processes: int) -> Json:
    """Return what has to be in a result by the games of its folder, and by what they don't show."""
    protocol, deals = protocol_named(known["protocol"]), known["deals"]
    _, results, chain = recount(protocol.config(deals), folder, first=protocol.digest, processes=processes)
    for game in results:
        for name, ending in zip(game.bots, game.endings, strict=False):  # without endings all have finished
            if name != CANDIDATE and ending is not Ending.FINISHED:
                raise VerificationError(
                    f"round {game.round}: {name} forfeited, which only the measured bot may;"
                    " play the benchmark again in another folder"
                )
    result = {
        "format": "happycity-benchmark/1",
        "protocol": protocol.name,
        "protocol_digest": protocol.digest,
        **_VERSIONS,
        "deals": deals,
        "complete": deals == protocol.deals,
        "games": len(results),
        "chain": chain,
        **plain_json(_figures(results)),
        "bot": known["bot"],
        "versions": known.get("versions"),
    }
    return {**result, "hash": digest_of(result), "cost": known.get("cost")}


_BENCHMARKS = Publication(BENCHMARK_FILE, _recompute)


def _figures(results: Sequence[Result]) -> Json:
    """Return what the candidate reached: its score, Elo, points, places and forfeits."""
    seats = [(result, result.bots.index(CANDIDATE)) for result in results]
    scores, deals = np.array([_score(*each) for each in seats]), np.array([each.round for each in results])
    places = Counter(result.places[seat] for result, seat in seats)
    endings = [result.endings[seat] for result, seat in seats if result.endings]
    return {
        "score": mean_difference(np.zeros(len(scores)), scores, deals=deals),
        "elo": elo_difference(np.full(len(scores), 0.5), scores, deals=deals),
        "points": float(np.mean([result.points[seat] for result, seat in seats])),
        "opponents_points": float(np.mean([np.delete(result.points, seat).mean() for result, seat in seats])),
        "places": [places[place] for place in range(1, len(results[0].bots) + 1)],
        "forfeits": len(endings) - endings.count(Ending.FINISHED),
    }


def _score(result: Result, seat: int) -> float:
    """Return the share of the opponents that a seat ended before, a shared place as half."""
    own, *others = result.places[seat], *result.places[:seat], *result.places[seat + 1 :]
    return sum(half_points(own, other) for other in others) / (WIN * len(others))
