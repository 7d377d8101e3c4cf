"""The pages of all tournaments, of one, and of a bot in it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from time import monotonic
from typing import Any

from starlette.requests import Request

from happycity import Incident, RecordError
from happycity.match import check_bot_spelling
from happycity.records.record import loads
from happycity.records.replay import incidents_of, metrics_of
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import match_service_pb2 as match_pb
from happycity.wire.match import ending_of
from happycity.wire.messages import config_of
from happycity_server.access.roles import principal
from happycity_server.errors import ApiError
from happycity_tournament.ratings.results import Difference
from happycity_tournament.ratings.statistics import Moments, count_metrics
from happycity_tournament.standings.standings import Standings
from happycity_tournament.standings.stats import Stats
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.wire import difference_of
from happycity_web import charts
from happycity_web.cache import Kind
from happycity_web.charts import rating_scale
from happycity_web.games import MODES, GameQuery, choices, list_games, record_of, search
from happycity_web.query import ListFilter, bot_name, words
from happycity_web.render import NoSuchPageError, Page, language_of, mode_of, state_word
from happycity_web.watch import Feeds, within_page_time

PAIRS_SHOWN = 30
"""Bots of a tournament whose pairs are in one table; with more, each bot's page has its own."""
TOURNAMENTS_A_PAGE = 20
PAGES_SEARCHED = 10
"""Pages that are looked through for tournaments of one mode."""
PODIUM = 3
"""Bots that are named as the first ones of a tournament."""
_OVER = ("finished", "stopped")
FIGURES_SECONDS = 10.0
"""How long the figures of a running tournament are shown before they are computed again."""
RecordNotes = tuple[Sequence[Incident], Sequence[tuple[int, Mapping[str, float]]]]
"""What the record of a game says besides the result: incidents, and by seat the numbers of its answers."""
_STANDINGS = Kind[Standings]("standings", kept=0)
"""By tournament: those that are being loaded."""
_PODIUMS = Kind[list[tournament_pb.Standing]]("podiums", kept=200)
"""By tournament that is over, and number of games."""
_STATS = Kind[Stats]("stats", kept=16)
"""By tournament, and number of games or moment."""
_NOTES = Kind[RecordNotes]("notes", kept=1000)
"""By match."""


@dataclass(frozen=True, slots=True)
class TournamentQuery(ListFilter):
    """Which tournaments are listed."""

    bot: str = bot_name()
    """Those in which it takes part."""
    mode: str = words(*MODES)


async def tournaments_page(feeds: Feeds, request: Request, chosen: TournamentQuery) -> Page:
    """Show tournaments, newest first, with those who came first."""
    arena = feeds.arena

    async def ask(token: str) -> tuple[list[tournament_pb.Tournament], str]:
        call, bot = arena.tournaments.ListTournaments, chosen.bot or None
        page = await arena.call(call, page_size=TOURNAMENTS_A_PAGE, page_token=token, bot=bot)
        found = [one for one in page.tournaments if chosen.mode in ("", mode_in(one))]
        return found, page.next_page_token

    tournaments, token = await search(feeds, ask, chosen.page, most=TOURNAMENTS_A_PAGE, pages=PAGES_SEARCHED)
    values = {
        "chosen": chosen,
        "modes": MODES,
        "tournaments": tournaments,
        "podiums": await podiums(feeds, request, tournaments),
        "next_page": token,
    }
    return Page("tournaments.html", values, ("tournaments", "podiums", "next_page"))


def mode_in(tournament: tournament_pb.Tournament) -> str:
    """Return the mode of a tournament's games in a word; "" if the tournament can't be read."""
    return mode_of(tournament.config.game) if tournament.HasField("config") else ""


async def podiums(
    feeds: Feeds, request: Request, tournaments: Iterable[tournament_pb.Tournament]
) -> dict[int, list[tournament_pb.Standing]]:
    """Return the first bots of tournaments that are over; those that take long to load are missing."""
    over = [one for one in tournaments if state_word(one) in _OVER and one.progress.games_finished]
    keys = [(one.tournament_id, one.progress.games_finished) for one in over]
    get = partial(feeds.cache.get, _PODIUMS, calls=1)  # as a call of a client would be
    found = await asyncio.gather(
        *(within_page_time(request, get(key, partial(_podium, feeds, key[0]))) for key in keys)
    )
    return {one.tournament_id: podium for one, podium in zip(over, found, strict=True) if podium}


async def _podium(feeds: Feeds, tournament_id: int) -> list[tournament_pb.Standing]:
    try:
        shown = await feeds.arena.call(feeds.arena.tournaments.GetStandings, tournament_id=tournament_id)
    except StoreError:  # its games are damaged, as its own page says
        return []
    return list(shown.standings[:PODIUM])


async def newest_tournaments(feeds: Feeds, **chosen: Any) -> list[tournament_pb.Tournament]:
    """Return a page of tournaments, newest first, by the fields of its request."""
    arena = feeds.arena
    return list((await arena.call(arena.tournaments.ListTournaments, **chosen)).tournaments)


async def tournament_page(feeds: Feeds, request: Request, query: GameQuery) -> Page:
    """Show a tournament: how far it is, its standings, what goes on, charts, and its games."""
    tournament = await tournament_of(feeds, request.path_params["tournament_id"])
    values = await _values(feeds, request, tournament, query)
    figures: Stats | None = values["figures"]
    bots = [line.bot for line in values["standings"]]
    values |= {
        "scale": rating_scale(line.rating for line in values["standings"]),
        "pairs": charts.pairs(figures, bots) if figures and len(bots) <= PAIRS_SHOWN else [],
        "rounds": figures.rounds if figures else [],
    }
    shown = ("tournament", "standings", "above_next", "pairs", "rounds", "games")
    return Page("tournament.html", values, shown, is_final=values["is_final"])


async def bot_page(feeds: Feeds, request: Request, query: GameQuery) -> Page:
    """Show a bot in a tournament: its results, against whom, and why it lost or forfeited."""
    tournament_id, bot = request.path_params["tournament_id"], check_bot_spelling(request.path_params["bot"])
    tournament = await tournament_of(feeds, tournament_id)
    if bot not in tournament.config.bots:
        text = language_of(request).texts.gettext("Tournament %(number)s has no bot %(bot)s.")
        raise NoSuchPageError(text % {"number": tournament_id, "bot": bot})
    values = await _values(feeds, request, tournament, replace(query, bot=bot))
    line = next((line for line in values["standings"] if line.bot == bot), None)
    figures: Stats | None = values["figures"]
    order = [line.bot for line in values["standings"]]
    meetings = [] if figures is None else list(figures.meetings(bot))
    meetings.sort(key=lambda meeting: order.index(meeting.opponent))
    losses = [] if figures is None else figures.losses(bot)
    show = feeds.arena.matches.GetMatch
    lost = [await feeds.arena.call(show, match_id=loss.match_id) for loss in losses]
    games = values["games"]
    seats = [pair for game in games for pair in zip(game.bots, game.outcome.result.seats, strict=False)]
    places = Counter(seat.place for name, seat in seats if name == bot)
    notes = await _bot_notes(feeds, bot, games if values["is_over"] else [])
    values |= {
        "bot": bot,
        "line": line,
        "info": next((entry for entry in tournament.bots if entry.name == bot), None),
        "reasons": [(ending_of(count.ending), count) for count in line.forfeit_counts] if line else [],
        "meetings": meetings,
        "losses": list(zip(losses, lost, strict=True)),
        "places": sorted(places.items()),
        "notes": notes,
        "ratings": list(figures.history.of(bot)) if figures else [],
    }
    shown = ("line", "info", "above_next", "meetings", "losses", "ratings", "games")
    return Page("bot.html", values, shown, is_final=values["is_final"])


async def tournament_of(feeds: Feeds, tournament_id: int) -> tournament_pb.Tournament:
    """Return a tournament."""
    return await feeds.arena.call(feeds.arena.tournaments.GetTournament, tournament_id=tournament_id)


async def _values(
    feeds: Feeds, request: Request, tournament: tournament_pb.Tournament, query: GameQuery
) -> dict[str, Any]:
    """Return what both pages show of a tournament and its games.

    Standings are loaded once for all who ask; without them, as that takes long, the page follows.
    """
    found = await list_games(feeds, query, tournament_id=tournament.tournament_id)
    load = partial(feeds.arena.tournaments.standings, principal(), tournament.tournament_id)
    standings = await within_page_time(request, feeds.cache.get(_STANDINGS, tournament.tournament_id, load))
    state = state_word(tournament)
    is_over = state in _OVER
    shown = tournament_pb.Standings()
    if standings is not None:
        shown = await feeds.arena.call(
            feeds.arena.tournaments.GetStandings,
            tournament_id=tournament.tournament_id,
            with_final_ratings=state not in ("waiting", "running"),
        )
    activity: Mapping[str, tournament_pb.BotActivity] = {}
    incidents: Sequence[tournament_pb.MatchIncident] = ()
    if state in ("waiting", "running"):
        activity, incidents = await feeds.arena.tournaments.events(principal(), tournament.tournament_id)
    figures = None
    if standings is not None and standings.games:
        # Those of a running tournament may be some seconds old.
        moment = standings.games if is_over else -1 - int(monotonic() // FIGURES_SECONDS)
        compute = partial(asyncio.to_thread, _computed, standings)
        figures = await feeds.cache.get(_STATS, (tournament.tournament_id, moment), compute)
    return {
        **choices(),
        "found": found,
        "games": found.games,
        "tournament": tournament,
        "game": config_of(tournament.config.game),
        "format": tournament.config.WhichOneof("format") or "",
        "state": state,
        "is_over": is_over,
        "is_final": state in ("finished", "stopped", "unreadable") and standings is not None,
        "standings": _rated(shown),
        "final": shown.final_ratings if shown.HasField("final_ratings") else None,
        "above_next": _above_next(shown.final_ratings),
        "pools": _pools(shown.final_ratings),
        "is_loading": standings is None,
        "sprt": shown.sprt if shown.HasField("sprt") else None,
        "figures": figures,
        "activity": activity,
        "incidents": incidents,
    }


def _rated(shown: tournament_pb.Standings) -> list[tournament_pb.Standing]:
    """Return the lines of standings, with final ratings and in their order if these are known."""
    lines = {line.bot: line for line in shown.standings}
    for final in shown.final_ratings.ratings:
        lines[final.bot].rating.CopyFrom(final.rating)
    return [lines[final.bot] for final in shown.final_ratings.ratings] or list(shown.standings)


def _above_next(final: tournament_pb.FinalRatings) -> dict[str, tuple[str, Difference]]:
    """Return by bot the next one of its pool, and how much higher the bot is rated, where that is known."""
    above_next = {}
    for line, following in pairwise(final.ratings):
        if line.HasField("above_next"):
            above_next[line.bot] = following.bot, difference_of(line.above_next)
    return above_next


def _pools(final: tournament_pb.FinalRatings) -> dict[str, int]:
    """Return the pools of bots, if there is more than one."""
    pools = {line.bot: line.pool for line in final.ratings}
    return pools if len(set(pools.values())) > 1 else {}


def _computed(standings: Standings) -> Stats:
    """Return the figures of standings with what takes long to compute."""
    figures = standings.stats()
    _ = figures.history, figures.rounds, list(figures.meetings(figures.games.bots[0]))
    return figures


async def _bot_notes(feeds: Feeds, bot: str, games: Iterable[match_pb.Match]) -> dict[str, Any]:
    """Return what the records of finished games say of a bot; games without one say nothing."""
    incidents, metrics = list[tuple[match_pb.Match, Incident]](), dict[str, Moments]()
    for game in games:
        if not (game.watchable and game.outcome.HasField("result")):
            continue
        try:
            read = partial(_read_notes, feeds, game.match_id)
            found, numbers_found = await feeds.cache.get(_NOTES, game.match_id, read)
        except (ApiError, RecordError):  # there is none, or it is malformed
            continue
        incidents += [(game, incident) for incident in found if game.bots[incident.seat] == bot]
        for seat, numbers in numbers_found:
            if game.bots[seat] == bot:
                count_metrics(metrics, numbers)
    return {"incidents": incidents, "metrics": metrics}


async def _read_notes(feeds: Feeds, match_id: int) -> RecordNotes:
    record = await asyncio.to_thread(loads, await record_of(feeds, match_id))
    return incidents_of(record), metrics_of(record)
