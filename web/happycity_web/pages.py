"""The pages of lists and tables: the lobby, a tournament, and a bot of a tournament."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from starlette.exceptions import HTTPException
from starlette.requests import Request

from happycity import Ending
from happycity.match import check_bot_name
from happycity.v1 import bot_service_pb2 as bot_pb
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity.v1 import tournament_service_pb2 as tournament_pb
from happycity.wire import config_of, ending_number, ending_of
from happycity_server.errors import ApiError, Reason
from happycity_tournament.running.codec import state_of
from happycity_web.live import Feeds
from happycity_web.reader import Reader, language_of
from happycity_web.render import render

TOURNAMENTS_SHOWN = 20
MATCHES_SHOWN = 50
BOTS_SHOWN = 200
GAMES_A_PAGE = 50
PAGES_SEARCHED = 10
"""Pages of 200 games that one page of a bot's lost games may be gathered from."""

ONLY = ("all", "losses", "forfeits")
"""Which of a bot's games are listed."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page: a template, what it shows, and the same as JSON."""

    template: str
    values: Mapping[str, Any]
    messages: Mapping[str, Any]
    """What is JSON of it: messages of the contract, lists of them, and what is JSON already."""

    def html(self, reader: Reader) -> str:
        """Return the page as a reader gets it."""
        return render(self.template, self.values, reader)

    def data(self) -> dict[str, Any]:
        """Return what the page shows, the messages as their JSON mapping has them."""
        return {name: _plain(value) for name, value in self.messages.items()}


async def lobby_page(feeds: Feeds, request: Request) -> Page:
    """Show who is connected, what is being played, and the latest tournaments."""
    arena = feeds.arena
    tournaments = await arena.call(
        arena.tournaments.ListTournaments, tournament_pb.ListTournamentsRequest(page_size=TOURNAMENTS_SHOWN)
    )
    running = await arena.call(
        arena.matches.ListMatches,
        match_pb.ListMatchesRequest(page_size=MATCHES_SHOWN, state=match_pb2.MATCH_STATE_RUNNING),
    )
    finished = await arena.call(
        arena.matches.ListMatches,
        match_pb.ListMatchesRequest(page_size=10, state=match_pb2.MATCH_STATE_FINISHED),
    )
    bots = await arena.call(arena.bots.ListBots, bot_pb.ListBotsRequest(page_size=BOTS_SHOWN))
    values = {
        "bots": list(bots.bots),
        "more_bots": bool(bots.next_page_token),
        "running": list(running.matches),
        "more_running": bool(running.next_page_token),
        "finished": list(finished.matches),
        "tournaments": list(tournaments.tournaments),
        "states": {one.tournament_id: _state(one) for one in tournaments.tournaments},
        "hidden": set().union(*map(_hidden, tournaments.tournaments)),
    }
    messages = {name: values[name] for name in ("bots", "running", "finished", "tournaments")}
    return Page("lobby.html", values, messages)


async def tournament_page(feeds: Feeds, request: Request) -> Page:
    """Show a tournament: how far it is, its standings, and its latest games."""
    tournament_id = request.path_params["tournament_id"]
    tournament, standings = await _tournament(feeds, tournament_id)
    bot, ending = request.query_params.get("bot", ""), _ending(request)
    games = await feeds.arena.call(
        feeds.arena.matches.ListMatches,
        match_pb.ListMatchesRequest(
            tournament_id=tournament_id,
            bot=bot,
            ending=None if ending is None else ending_number(ending),
            page_size=GAMES_A_PAGE,
            page_token=request.query_params.get("before", ""),
        ),
    )
    lines = list(standings.standings)
    values = {
        **_tournament_values(tournament),
        "standings": lines,
        "scale": _Scale.of(lines),
        "sprt": standings.sprt if standings.HasField("sprt") else None,
        "games": list(games.matches),
        "older": games.next_page_token,
        "bot": bot,
        "ending": ending.word if ending else "",
        "endings": [word for word in _ENDINGS if word != Ending.FINISHED.word],
    }
    messages = {"tournament": tournament, "standings": lines, "games": values["games"]}
    return Page("tournament.html", values, messages)


async def bot_page(feeds: Feeds, request: Request) -> Page:
    """Show a bot in a tournament: its results, and why it lost or forfeited."""
    tournament_id, bot = request.path_params["tournament_id"], check_bot_name(request.path_params["bot"])
    tournament, standings = await _tournament(feeds, tournament_id)
    line = next((line for line in standings.standings if line.bot == bot), None)
    if line is None:
        text = language_of(request).texts.gettext("Tournament %(number)s has no bot %(bot)s.")
        raise HTTPException(404, text % {"number": tournament_id, "bot": bot})
    only = request.query_params.get("only", "all")
    if only not in ONLY:
        raise ApiError(Reason.INVALID_FIELD, f"only: {only!r:.40} is not one of {', '.join(ONLY)}")
    games, older = await _games_of(
        feeds, tournament_id, bot, only, before=request.query_params.get("before", "")
    )
    values = {
        **_tournament_values(tournament),
        "line": line,
        "bot": bot,
        "info": next((entry for entry in tournament.bots if entry.name == bot), None),
        "reasons": [(ending_of(count.ending), count) for count in line.forfeit_counts],
        "games": games,
        "places": _places(games, bot),
        "older": older,
        "only": only,
        "choices": ONLY,
    }
    return Page("bot.html", values, {"standing": line, "games": games})


async def _tournament(
    feeds: Feeds, tournament_id: int
) -> tuple[tournament_pb.Tournament, tournament_pb.GetStandingsResponse]:
    arena = feeds.arena
    got = await arena.call(
        arena.tournaments.GetTournament, tournament_pb.GetTournamentRequest(tournament_id=tournament_id)
    )
    standings = await arena.call(
        arena.tournaments.GetStandings, tournament_pb.GetStandingsRequest(tournament_id=tournament_id)
    )
    return got.tournament, standings


def _tournament_values(tournament: tournament_pb.Tournament) -> dict[str, Any]:
    return {
        "hidden": _hidden(tournament),
        "tournament": tournament,
        "config": tournament.config,
        "game": config_of(tournament.config.game),
        "format": tournament.config.WhichOneof("format") or "",
        "title": tournament.config.title,
        "state": _state(tournament),
    }


async def _games_of(
    feeds: Feeds, tournament_id: int, bot: str, only: str, *, before: str
) -> tuple[list[match_pb.Match], str]:
    """Return a page of a bot's finished games, and where the next one begins; "" after the last one."""
    games: list[match_pb.Match] = []
    for _ in range(PAGES_SEARCHED):
        page = await feeds.arena.call(
            feeds.arena.matches.ListMatches,
            match_pb.ListMatchesRequest(
                tournament_id=tournament_id,
                bot=bot,
                state=match_pb2.MATCH_STATE_FINISHED,
                page_size=GAMES_A_PAGE if only == "all" else 200,
                page_token=before,
            ),
        )
        for game in page.matches:
            if _belongs(game, bot, only):
                games.append(game)
                if len(games) == GAMES_A_PAGE:
                    last = game.match_id == page.matches[-1].match_id and not page.next_page_token
                    return games, "" if last else str(game.match_id)
        before = page.next_page_token
        if not before:
            break
    return games, before


def _belongs(game: match_pb.Match, bot: str, only: str) -> bool:
    own = [seat for name, seat in zip(game.bots, game.result.seats, strict=True) if name == bot]
    if only == "losses":
        return all(seat.place > 1 for seat in own)
    if only == "forfeits":
        return any(seat.ending != match_pb2.ENDING_FINISHED for seat in own)
    return True


def _places(games: Sequence[match_pb.Match], bot: str) -> list[tuple[int, int]]:
    """Return how often a bot took each place in games."""
    places = Counter(
        seat.place
        for game in games
        for name, seat in zip(game.bots, game.result.seats, strict=True)
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
        low = min((line.elo_low if line.HasField("elo_low") else line.elo for line in lines), default=1400)
        high = max((line.elo_high if line.HasField("elo_high") else line.elo for line in lines), default=1600)
        margin = max(10.0, 0.04 * (high - low))
        return cls(low - margin, high + margin)

    def at(self, elo: float) -> float:
        """Return the place of a rating in percent."""
        return round(100 * (elo - self.low) / (self.high - self.low), 2)


_ENDINGS = {ending.word: ending for ending in Ending if ending is not Ending.OTHER}


def _ending(request: Request) -> Ending | None:
    """Return the ending that the listed games must have; None for any."""
    word = request.query_params.get("ending", "")
    if not word:
        return None
    if word not in _ENDINGS:
        raise ApiError(Reason.INVALID_FIELD, f"ending: {word!r:.40} is not one of {', '.join(_ENDINGS)}")
    return _ENDINGS[word]


def _state(tournament: tournament_pb.Tournament) -> str:
    """Return where a tournament stands, in a word."""
    name = tournament_pb.TournamentState.Name(tournament.progress.state)
    return name.removeprefix("TOURNAMENT_STATE_").lower()


def _hidden(tournament: tournament_pb.Tournament) -> set[int]:
    """Return the tournament's id if its finished games can't be looked at yet."""
    revealed = state_of(tournament.progress.state).revealed
    return set() if revealed else {tournament.tournament_id}


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return MessageToDict(value, preserving_proto_field_name=True)
    return [_plain(entry) for entry in value] if isinstance(value, list) else value
