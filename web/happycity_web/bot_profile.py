"""The page of a bot over tournaments, ladder and versions: its results, its opponents, and its cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from starlette.requests import Request

from happycity.match import check_bot_spelling
from happycity.v1 import match_pb2
from happycity.v1 import match_service_pb2 as match_pb
from happycity_server.access.roles import principal
from happycity_server.errors import ApiError
from happycity_tournament.client.connection import listed_game
from happycity_tournament.standings.stats import GameTable, Stats
from happycity_web.cache import Kind
from happycity_web.games import GAMES_SEARCHED, search, statistics
from happycity_web.home import BOTS_SHOWN
from happycity_web.ladder import ladder_values
from happycity_web.purchases import Purchase
from happycity_web.query import Query
from happycity_web.render import NoSuchPageError, Page, language_of
from happycity_web.tournaments import newest_tournaments
from happycity_web.watch import Feeds, within_page_time

GAMES_COUNTED = 500
"""Games of a bot that are counted, the newest ones."""
ROUNDS = ((1, 3), (4, 6), (7, 9), (10, 99))
"""The first and last round of each column in the table of cards."""
FAVOURITES = 5
GAMES_SHOWN = 10
_PAGE = 200
_MOST_PAGES = GAMES_SEARCHED // _PAGE
GAMES_SECONDS = 10.0
"""How long the list of a bot's games is shown before it is read again."""
_GAMES = Kind[list[match_pb.Match]]("games of bots", kept=16)
"""By who may see them, bot, and moment."""
_COMPUTED = ("results", "competitions", "meetings", "favourites", "card_figures")


class CardFigures(NamedTuple):
    """How a bot did with a card. All numbers are of seats that were not forfeited."""

    card: str
    games: int
    """Seats in which the bot bought or took the card."""
    firsts: int
    """First places in these, shared ones included."""
    share: float
    """These seats among all of the bot, 0 to 1."""
    opponents: float
    """The same of its opponents."""
    rounds: Sequence[tuple[int, int]]
    """By the rounds of `ROUNDS` in which it was bought first: seats, and first places in these."""


class _SeatCards(NamedTuple):
    """A seat of a game."""

    first: bool
    bought: Mapping[str, int]
    """By card that it bought or took, the round in which it did first."""


async def bot_profile_page(feeds: Feeds, request: Request, _query: Query) -> Page:
    """Show a bot over all its games that count: no practice, and none whose deal is still in play."""
    bot, arena = check_bot_spelling(request.path_params["bot"]), feeds.arena
    key = principal().own_bot, principal().roles, bot, monotonic() // GAMES_SECONDS
    games = await feeds.cache.get(_GAMES, key, partial(_games, feeds, bot), calls=_MOST_PAGES - 1)
    ladder, boards = None, {}
    if arena.ladder.keeps_ladder:
        boards = (await ladder_values(feeds))["boards"]
        with suppress(ApiError):  # it isn't in the ladder
            ladder = await arena.call(arena.ladder.GetLadderBot, bot=bot)
    tournaments = await newest_tournaments(feeds, bot=bot)
    infos = [version.info for version in ladder.versions] if ladder else []
    infos += [entry.info for one in tournaments for entry in one.bots if entry.name == bot]
    connected = await arena.call(arena.bots.ListBots, page_size=BOTS_SHOWN)
    infos += [entry.info for entry in connected.bots if entry.name == bot]
    if not (games or infos):
        text = language_of(request).texts.gettext("There is no bot %(bot)s.")
        raise NoSuchPageError(text % {"bot": bot})
    ids = [game.match_id for game in games]
    profile = await within_page_time(
        request, statistics(feeds, ids, bot, make=partial(bot_profile_of, bot, games))
    )
    values = {
        **dict.fromkeys(_COMPUTED),
        **(profile or {}),
        "bot": bot,
        "info": infos[0] if infos else None,
        "counted": len(games),
        "ladder": ladder,
        "boards": boards,
        "tournaments": {one.tournament_id: one.config.title for one in tournaments},
        "games": games[:GAMES_SHOWN],
        "spans": ROUNDS,
        "is_loading": profile is None,
    }
    shown = ("bot", "info", "counted", *_COMPUTED, "ladder", "tournaments", "games")
    return Page("bot_profile.html", values, shown, is_final=profile is not None)


async def _games(feeds: Feeds, bot: str) -> list[match_pb.Match]:
    """Return the newest games of a bot that count, whose records the caller may read."""
    arena = feeds.arena

    async def ask(token: str) -> tuple[list[match_pb.Match], str]:
        call, state = arena.matches.ListMatches, match_pb2.MATCH_STATE_FINISHED
        page = await arena.call(call, bot=bot, state=state, page_size=_PAGE, page_token=token)
        counted = [game for game in page.matches if game.watchable and not game.practice]
        return counted, page.next_page_token

    found, _ = await search(feeds, ask, "", most=GAMES_COUNTED, pages=_MOST_PAGES, calls=0)
    return found[:GAMES_COUNTED]


def bot_profile_of(
    bot: str, games: Sequence[match_pb.Match], purchases: Mapping[int, Sequence[Purchase]]
) -> dict[str, Any]:
    """Return what games of a bot show, by the names of `_COMPUTED`; purchases are by match."""
    own, others = list[_SeatCards](), list[_SeatCards]()
    for game in games:
        for name, seat in _seats(game, purchases.get(game.match_id, ())):
            (own if name == bot else others).append(seat)
    by_tournament: dict[int, list[match_pb.Match]] = {}
    for game in games:
        by_tournament.setdefault(game.tournament_id, []).append(game)
    figures = _figures(bot, games)
    cards = [
        _card(card, own, others)
        for card, _ in Counter(card for seat in own for card in seat.bought).most_common()
    ]
    return {
        "results": figures.bots[bot],
        "competitions": {number: _figures(bot, some).bots[bot] for number, some in by_tournament.items()},
        "meetings": sorted(figures.meetings(bot), key=lambda meeting: (-meeting.games, meeting.opponent)),
        "favourites": [
            entry.card
            for entry in sorted(cards, key=lambda entry: entry.opponents - entry.share)[:FAVOURITES]
            if entry.share > entry.opponents
        ],
        "card_figures": cards,
    }


def _figures(bot: str, games: Sequence[match_pb.Match]) -> Stats:
    columns = GameTable(sorted({bot, *(name for game in games for name in game.bots)}))
    columns.add([listed_game(game).result for game in games])
    return columns.stats()


def _seats(game: match_pb.Match, purchases: Sequence[Purchase]) -> Iterator[tuple[str, _SeatCards]]:
    """Yield the seats of a game that were not forfeited, as then others played them, with their bots."""
    for number, (bot, result) in enumerate(zip(game.bots, game.outcome.result.seats, strict=True)):
        bought: dict[str, int] = {}
        for seat, card, round_number in purchases:
            if seat == number:
                bought.setdefault(card, round_number)
        if bought and result.ending == match_pb2.ENDING_FINISHED:
            yield bot, _SeatCards(result.place == 1, bought)


def _card(card: str, own: Sequence[_SeatCards], others: Sequence[_SeatCards]) -> CardFigures:
    with_it = [seat for seat in own if card in seat.bought]
    spans = [[seat.first for seat in with_it if first <= seat.bought[card] <= last] for first, last in ROUNDS]
    return CardFigures(
        card=card,
        games=len(with_it),
        firsts=sum(seat.first for seat in with_it),
        share=len(with_it) / len(own),
        opponents=sum(card in seat.bought for seat in others) / max(1, len(others)),
        rounds=[(len(span), sum(span)) for span in spans],
    )
