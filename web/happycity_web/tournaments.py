"""The pages of a tournament and of a bot in it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from happycity.match import check_bot_name
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.match import ending_of
from happycity.wire.messages import config_of
from happycity_tournament.running.codec import standing_message
from happycity_tournament.running.figures import Figures, Meeting
from happycity_tournament.running.standings import Standings
from happycity_web.games import GameFilter, list_games
from happycity_web.live import Feeds
from happycity_web.pages import HiddenGames, Page, filter_values, state_word
from happycity_web.reader import language_of

PAIRS_SHOWN = 30
"""Bots of a tournament whose pairs are shown in one table; with more, each bot's page has its own."""


async def tournament_page(feeds: Feeds, request: Request) -> Page:
    """Show a tournament: how far it is, its standings, what goes on, charts, and its games."""
    tournament_id = request.path_params["tournament_id"]
    tournament = await _tournament(feeds, tournament_id)
    found = await list_games(feeds, GameFilter.of(request), tournament_id=tournament_id)
    standings = await feeds.standings.of_tournament(tournament_id, patient=_wants_json(request))
    values = await _values(feeds, tournament, standings)
    lines = values["standings"]
    values |= {**filter_values(), "found": found, "scale": _Scale.of(lines), "pairs_shown": PAIRS_SHOWN}
    messages = {"tournament": tournament, "standings": lines, "games": found.games}
    return Page("tournament.html", values, messages, is_final=values["is_final"])


async def bot_page(feeds: Feeds, request: Request) -> Page:
    """Show a bot in a tournament: its results, against whom, and why it lost or forfeited."""
    tournament_id, bot = request.path_params["tournament_id"], check_bot_name(request.path_params["bot"])
    tournament = await _tournament(feeds, tournament_id)
    if bot not in tournament.config.bots:
        text = language_of(request).texts.gettext("Tournament %(number)s has no bot %(bot)s.")
        raise HTTPException(404, text % {"number": tournament_id, "bot": bot})
    found = await list_games(feeds, GameFilter.of(request, bot=bot), tournament_id=tournament_id)
    standings = await feeds.standings.of_tournament(tournament_id, patient=_wants_json(request))
    values = await _values(feeds, tournament, standings)
    line = next((line for line in values["standings"] if line.bot == bot), None)
    figures: Figures | None = values["figures"]
    meetings = [] if figures is None else _best_first(figures.meetings(bot), values["standings"])
    losses = [] if figures is None else figures.losses[bot]
    games = await _games(feeds, [loss.match_id for loss in losses])
    notes = await feeds.notes.of_bot(bot, [] if values["hidden"].tournaments else found.games)
    values |= {
        **filter_values(),
        "found": found,
        "bot": bot,
        "line": line,
        "info": next((entry for entry in tournament.bots if entry.name == bot), None),
        "reasons": [(ending_of(count.ending), count) for count in line.forfeit_counts] if line else [],
        "meetings": meetings,
        "losses": [(loss, games[loss.match_id]) for loss in losses if loss.match_id in games],
        "places": _places(found.games, bot),
        "notes": notes,
    }
    messages = {
        "standing": line,
        "profile": values["info"],
        "meetings": [_meeting_json(meeting) for meeting in meetings],
        "losses": [{"match_id": loss.match_id, "behind": loss.behind} for loss in losses],
        "ratings": [list(point) for point in figures.history(bot)] if figures else [],
        "games": found.games,
    }
    return Page("bot.html", values, messages, is_final=values["is_final"])


async def _tournament(feeds: Feeds, tournament_id: int) -> tournament_pb.Tournament:
    arena = feeds.arena
    request = tournament_pb.GetTournamentRequest(tournament_id=tournament_id)
    return await arena.call(arena.tournaments.GetTournament, request)


async def _values(
    feeds: Feeds, tournament: tournament_pb.Tournament, standings: Standings | None
) -> dict[str, Any]:
    """Return what both pages show of a tournament, without standings if these are being loaded."""
    state, sprt = state_word(tournament), None
    if tournament.config.HasField("sprt") and standings is not None:
        arena = feeds.arena
        request = tournament_pb.GetStandingsRequest(tournament_id=tournament.tournament_id)
        got = await arena.call(arena.tournaments.GetStandings, request)
        sprt = got.sprt if got.HasField("sprt") else None
    events = None
    if state in ("waiting", "running"):
        events = await feeds.events.of_tournament(tournament.tournament_id)
    has_games = standings is not None and standings.games > 0
    lines = [] if standings is None else await asyncio.to_thread(standings.lines_later())
    return {
        "tournament": tournament,
        "config": tournament.config,
        "game": config_of(tournament.config.game),
        "format": tournament.config.WhichOneof("format") or "",
        "title": tournament.config.title,
        "state": state,
        "is_over": state in ("finished", "stopped"),
        "is_final": state in ("finished", "stopped", "unreadable") and standings is not None,
        "hidden": HiddenGames.of(feeds, tournament),
        "standings": [standing_message(line) for line in lines],
        "is_loading": standings is None,
        "sprt": sprt,
        "figures": await feeds.standings.figures(tournament.tournament_id, standings)
        if has_games and standings is not None
        else None,
        "activity": {} if events is None else dict(events.activity),
        "incidents": [] if events is None else list(events.incidents),
    }


async def _games(feeds: Feeds, match_ids: Sequence[int]) -> dict[int, match_pb.Match]:
    """Return some stored games."""
    arena = feeds.arena
    return {
        match_id: await arena.call(arena.matches.GetMatch, match_pb.GetMatchRequest(match_id=match_id))
        for match_id in match_ids
    }


def _wants_json(request: Request) -> bool:
    return request.url.path.endswith(".json")


def _best_first(meetings: Any, standings: Sequence[tournament_pb.Standing]) -> list[Meeting]:
    order = {line.bot: number for number, line in enumerate(standings)}
    return sorted(meetings, key=lambda meeting: order[meeting.opponent])


def _meeting_json(meeting: Meeting) -> Mapping[str, Any]:
    return {
        "opponent": meeting.opponent,
        "games": meeting.games,
        "score": meeting.score,
        "difference": meeting.difference,
        "margin": meeting.margin,
    }


def _places(games: Sequence[match_pb.Match], bot: str) -> list[tuple[int, int]]:
    """Return how often a bot took each place in games."""
    places = Counter(
        seat.place
        for game in games
        for name, seat in zip(game.bots, game.result.seats, strict=False)
        if name == bot
    )
    return sorted(places.items())


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where ratings are on the axis of the standings."""

    low: float
    high: float

    @classmethod
    def of(cls, lines: Sequence[tournament_pb.Standing]) -> _Scale:
        """Return a scale that has room for all ratings with their intervals."""
        ratings = [line.rating for line in lines]
        low = min((each.low if each.HasField("low") else each.elo for each in ratings), default=1400)
        high = max((each.high if each.HasField("high") else each.elo for each in ratings), default=1600)
        margin = max(10.0, 0.04 * (high - low))
        return cls(low - margin, high + margin)

    def at(self, elo: float) -> float:
        """Return the place of a rating in percent."""
        return round(100 * (elo - self.low) / (self.high - self.low), 2)
