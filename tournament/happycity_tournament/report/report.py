"""The report of a tournament: its contents, and the replays that are written beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from happycity import RecordError, ReplayError
from happycity.records.playback import Playback
from happycity.records.record import loads
from happycity_tournament.games import FinishedGame
from happycity_tournament.ratings.results import Ratings
from happycity_tournament.recorded_games import named_record
from happycity_tournament.report.facts import Facts, count_games
from happycity_tournament.report.page import Replay, Report, render
from happycity_tournament.report.whole_files import replacing
from happycity_tournament.standings.counted import CountingRules
from happycity_tournament.standings.rated_games import judged_games, rate_games
from happycity_tournament.storage.sources import Source
from happycity_viewer.plies import playback_json
from happycity_viewer.replay import replay_name, replay_page


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
    sharing: Sequence[str] = (),
    processes: int = 1,
) -> int:
    """Write the report of a source of one tournament, or of none, and return its number of games.

    Copies of a game, practice, and games after the decision of a test are left out. The replays of notable
    games are written into the folder `replays`. The bots `sharing` are
    those that are known to have played in so many common processes.
    """
    tournaments = source.tournaments()
    rules = CountingRules(tournaments)
    bots = list(dict.fromkeys(source.bots()))
    facts = count_games(bots, judged_games(source, rules, with_records=True))
    test = rules.rule(tournaments[0].id).test if len(tournaments) == 1 else None
    configs = [(config, config.bots) for config in rules.configs.values()]
    ratings = rate_games(facts.figures.estimate, configs, test=None if test is None else test.state)
    notable = _notable(source, facts, ratings)
    if replays is not None:
        _write_replays(source, notable, replays, out=out)
    report = Report(
        source=source.name,
        tournament=tournaments[0] if tournaments else None,
        facts=facts,
        ratings=ratings,
        replays=list(notable.values()),
        sharing=tuple(bot for bot in sharing if bot in facts.times),
        processes=processes,
        test=test,
    )
    with replacing(out) as path:
        path.write_text(render(report), encoding="utf-8")
    return facts.games + facts.unrated


def _notable(source: Source, facts: Facts, ratings: Ratings) -> dict[int, Replay]:
    """Return the notable games, each bot's best and worst and those with forfeits, with the reasons."""
    notable: dict[int, Replay] = {}

    def note(game: FinishedGame, reason: str) -> None:
        notable.setdefault(game.match_id, Replay(game)).reasons.append(reason)

    for bot in (line.bot for line in ratings.lines):
        extremes = facts.figures.extremes(bot) or ()
        for what, extreme in zip(("most", "fewest"), extremes, strict=False):
            note(source.game(extreme.match_id)[0], f"{what} points of {bot}: {extreme.points}")
    for game in facts.forfeited:
        for bot, seat in zip(game.bots, game.seats, strict=True):
            if seat.forfeited:
                reason = f" ({seat.reason})" if seat.reason else ""
                note(game, f"{bot} forfeited: {seat.ending.word}{reason}")
    return notable


def _write_replays(source: Source, replays: dict[int, Replay], folder: ReplayFolder, *, out: Path) -> None:
    """Write the replays of games, each a page of its own, and set their addresses relative to the report."""
    for match_id, replay in replays.items():
        game, record = source.game(match_id)
        if record is None:
            continue
        try:
            page = _replay(game, record, back=_address(out, folder.path))
        except (RecordError, ReplayError) as error:
            folder.failures.append(f"game {match_id} can't be replayed: {error}")
            continue
        folder.path.mkdir(parents=True, exist_ok=True)
        path = folder.path / replay_name(match_id)
        with replacing(path) as partial:
            folder.sizes.append(partial.write_bytes(page.encode()))
        replay.link = _address(path, out.parent)


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
