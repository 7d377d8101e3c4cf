"""The report of a tournament: its contents, and the replays that are written beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from happycity import RecordError, ReplayError
from happycity.records.playback import Playback
from happycity.records.record import loads
from happycity_tournament.config import SprtTest
from happycity_tournament.games import FinishedGame, ListedGame
from happycity_tournament.ratings.checks import check_lines, check_model
from happycity_tournament.ratings.estimate import estimate_of
from happycity_tournament.ratings.final import rate, with_difference
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.report.facts import Facts, count_games
from happycity_tournament.report.page import Replay, Report, TestHistory, render
from happycity_tournament.schedule import SprtSchedule, schedule_of
from happycity_tournament.schedule.replays import swiss_error_factor
from happycity_tournament.storage import StoredTournament
from happycity_tournament.storage.rating_input import Deduplicator, configs_of
from happycity_tournament.storage.sources import Source, named_record
from happycity_viewer.plies import playback_json
from happycity_viewer.replay import replay_name, replay_page

CHOSEN = "chosen"
"""Why a game is listed that somebody has asked for."""


@dataclass(slots=True)
class ReplayFolder:
    """Where replays are written, and what was written there."""

    path: Path
    sizes: list[int] = field(default_factory=list)
    """Bytes of each replay."""
    failures: list[str] = field(default_factory=list)
    """Games that could not be replayed, each with the reason."""


def write_report(
    source: Source,
    out: Path,
    *,
    replays: ReplayFolder | None = None,
    chosen: Sequence[ListedGame] = (),
    sharing: Sequence[str] = (),
    processes: int = 1,
) -> int:
    """Write the report of a source of one tournament, or of none, and return its number of games.

    Copies of a game, practice, and games after the decision of a test are left out. The replays of notable
    games, and of those that were `chosen`, are written into the folder `replays`. The bots `sharing` are
    those that are known to have played in so many common processes.
    """
    tournaments = source.tournaments()
    test = _played_test(source, tournaments)
    last = None if test is None else test.last_round
    games = (
        game
        for game in source.games(with_records=True)
        if not game[0].practice and (last is None or game[0].round <= last)
    )
    bots = list(dict.fromkeys(source.bots()))
    facts = count_games(bots, Deduplicator().unique(games))
    ratings = _ratings(source, facts, test)
    notable = _notable(facts, ratings)
    for game in chosen:
        notable.setdefault(game.match_id, Replay(game)).reasons.append(CHOSEN)
    if replays is not None:
        _write_replays(source, notable, replays, out=out)
    report = Report(
        source=source.name,
        tournament=tournaments[0] if tournaments else None,
        facts=facts,
        ratings=ratings,
        replays=list(notable.values()),
        sharing=tuple(bot for bot in sharing if bot in facts.bots),
        processes=processes,
        test=None if test is None else TestHistory.of(test),
    )
    out.write_text(render(report), encoding="utf-8")
    return facts.games + facts.unrated


def _played_test(source: Source, tournaments: Sequence[StoredTournament]) -> SprtSchedule | None:
    """Return the test of a source with all of its games; None if it is none."""
    configs = configs_of(source) if len(tournaments) == 1 else []
    schedule = schedule_of(configs[0]) if configs and isinstance(configs[0].format, SprtTest) else None
    if not isinstance(schedule, SprtSchedule):
        return None
    for game, _ in source.games(with_records=False):
        if not game.practice:
            schedule.add(game)
    return schedule


def _ratings(source: Source, facts: Facts, test: SprtSchedule | None) -> Ratings:
    """Return the ratings of the games, with what should be known about the model."""
    estimate = estimate_of(facts.columns())
    tournaments = [(config, config.bots) for config in configs_of(source)]
    ratings = rate(estimate, error_factor=swiss_error_factor(tournaments, estimate))
    ratings = replace(ratings, notes=(*ratings.notes, *check_lines(check_model(estimate))))
    state = None if test is None else test.state
    if state is None or state.elo is None:
        return ratings
    return with_difference(ratings, tournaments[0][1], (state.elo, state.elo_low, state.elo_high))


def _notable(facts: Facts, ratings: Ratings) -> dict[int, Replay]:
    """Return the notable games, each bot's best and worst and those with forfeits, with the reasons."""
    notable: dict[int, Replay] = {}

    def note(game: FinishedGame, reason: str) -> None:
        notable.setdefault(game.match_id, Replay(game)).reasons.append(reason)

    for bot in (line.bot for line in ratings.lines):
        for what, extreme in (("most", facts.bots[bot].best), ("fewest", facts.bots[bot].worst)):
            if extreme is not None:
                points, game = extreme
                note(game, f"{what} points of {bot}: {points}")
    for game in facts.forfeited:
        for bot, seat in zip(game.bots, game.seats, strict=True):
            if seat.forfeited:
                reason = f" ({seat.reason})" if seat.reason else ""
                note(game, f"{bot} forfeited: {seat.ending.word}{reason}")
    return notable


def _write_replays(source: Source, replays: dict[int, Replay], folder: ReplayFolder, *, out: Path) -> None:
    """Write the replays of games, each a page of its own, and set their addresses relative to the report."""
    for game, record in source.games(with_records=True):
        if game.match_id in replays and record is not None:
            try:
                page = _replay(game, record, back=_address(out, folder.path))
            except (RecordError, ReplayError) as error:
                folder.failures.append(f"game {game.match_id} can't be replayed: {error}")
                continue
            folder.path.mkdir(parents=True, exist_ok=True)
            path = folder.path / replay_name(game.match_id)
            folder.sizes.append(path.write_bytes(page.encode()))
            replays[game.match_id].link = _address(path, out.parent)


def _replay(game: FinishedGame, record: str, *, back: str) -> str:
    """Return the page of a game.

    Raises:
        RecordError, ReplayError: its record is malformed, or the rules play it differently.
    """
    playback = Playback.of_record(loads(record), bots=game.bots, match_id=game.match_id)
    shown = playback_json(playback, tournament_id=game.tournament_id)
    return replay_page(shown, named_record(game.bots, record), back=back)


def _address(path: Path, folder: Path) -> str:
    """Return the address of a file in pages of a folder."""
    return quote(Path(os.path.relpath(path, folder)).as_posix())
