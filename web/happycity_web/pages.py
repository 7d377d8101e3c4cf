"""A page as it is rendered, and the pages of the lobby and of all games."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from starlette.requests import Request

from happycity.ladder.v1beta1 import ladder_service_pb2 as ladder_pb
from happycity.rules.deals import MAX_PLAYERS, MIN_PLAYERS
from happycity.tournament.v1beta1 import tournament_service_pb2 as tournament_pb
from happycity.v1 import bot_service_pb2 as bot_pb
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity_tournament.running.codec import state_of
from happycity_web.enums import enum_word
from happycity_web.games import ENDINGS, ONLY, GameFilter, list_games
from happycity_web.live import Feeds
from happycity_web.reader import Reader
from happycity_web.render import Part, render, render_parts

TOURNAMENTS_SHOWN = 20
MATCHES_SHOWN = 50
BOTS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Page:
    """A page: a template, what it shows, and the same as JSON."""

    template: str
    values: Mapping[str, Any]
    messages: Mapping[str, Any]
    """What is JSON of it: messages of the contract, lists of them, and what is JSON already."""
    is_final: bool = False
    """Whether nothing of it will change any more."""

    def html(self, reader: Reader) -> str:
        """Return the page as a reader gets it."""
        return render(self.template, self.values, reader)

    def parts(self, known: Mapping[str, Part], reader: Reader) -> Mapping[str, Part]:
        """Return its changing parts by name as a reader gets them; those that are known are taken over."""
        return render_parts(self.template, self.values, reader, known)

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
        "states": {one.tournament_id: state_word(one) for one in tournaments.tournaments},
        "hidden": HiddenGames.of(feeds, *tournaments.tournaments),
        "ladder": await arena.call(arena.ladder.GetLadder, ladder_pb.GetLadderRequest())
        if arena.has_ladder
        else None,
    }
    messages = {name: values[name] for name in ("bots", "running", "finished", "tournaments", "ladder")}
    return Page("lobby.html", values, messages)


async def games_page(feeds: Feeds, request: Request) -> Page:
    """Show games of all tournaments and none, newest first."""
    arena, chosen = feeds.arena, GameFilter.of(request)
    tournaments = await arena.call(
        arena.tournaments.ListTournaments, tournament_pb.ListTournamentsRequest(page_size=TOURNAMENTS_SHOWN)
    )
    found = await list_games(feeds, chosen)
    values = {
        **filter_values(),
        "found": found,
        "hidden": HiddenGames.of(feeds, *tournaments.tournaments),
    }
    return Page("games_page.html", values, {"games": found.games})


def filter_values() -> dict[str, Any]:
    """Return what the form that chooses games offers."""
    return {"onlys": ONLY, "endings": list(ENDINGS), "sizes": range(MIN_PLAYERS, MAX_PLAYERS + 1)}


def state_word(tournament: tournament_pb.Tournament) -> str:
    """Return where a tournament stands, in a word."""
    return enum_word(tournament_pb.TournamentState, tournament.progress.state)


@dataclass(frozen=True, slots=True)
class HiddenGames:
    """Finished games that can't be looked at yet, as their cards may be in play in others."""

    tournaments: frozenset[int]
    """Whose games are hidden."""
    is_open: Callable[[int], bool]
    """Returns whether a deal of the ladder is being played."""

    @classmethod
    def of(cls, feeds: Feeds, *tournaments: tournament_pb.Tournament) -> Self:
        """Return the games that are hidden, of these tournaments and of the ladder."""
        running = {one.tournament_id for one in tournaments if not state_of(one.progress.state).revealed}
        return cls(frozenset(running), feeds.arena.ladder.is_open)

    def __contains__(self, match: match_pb.Match) -> bool:
        """Return whether a finished match is hidden."""
        return match.tournament_id in self.tournaments or self.is_open(match.ladder_deal_id)


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return MessageToDict(value, preserving_proto_field_name=True)
    return [_plain(entry) for entry in value] if isinstance(value, list) else value
