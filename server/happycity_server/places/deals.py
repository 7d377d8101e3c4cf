"""Which deals are in play: the facts about deals by which is decided who may see what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence

from happycity_ladder.book import Book
from happycity_server.places.places import Places
from happycity_tournament.games import FinishedGame
from happycity_tournament.storage.async_store import AsyncStore
from happycity_tournament.visibility import Play, play_of

DealOfGame = tuple[Play, int | None]
"""Whether games of it may still be played, and the deal of the ladder that it is, if it is one."""


class DealsInPlay:
    """Knows by their seeds the deals of matches, tables, tournaments and the ladder that are not over."""

    def __init__(
        self, places: Places, store: AsyncStore, *, waiting_seeds: Callable[[], Iterable[int]]
    ) -> None:
        """Look at the matches of `places`, and at the tournaments and the ladder of `store`.

        `waiting_seeds` returns the seeds of deals that wait for people at tables.
        """
        self._places = places
        self._store = store
        self._ladder = Book(store.store)
        self._waiting_seeds = waiting_seeds

    async def of_games(self, games: Sequence[FinishedGame]) -> dict[int, DealOfGame]:
        """Return the deals of finished games, by match."""
        seeds = {match.spec.deal.seed for match in self._places.newest_matches()}
        return await self._store.read(self._of_games, games, seeds.union(self._waiting_seeds()))

    async def of_tournaments(self, numbers: Collection[int]) -> dict[int, Play]:
        """Return by tournament whether its deals may be played in other tournaments or single matches."""
        # All other matches have deals of their own, of their tournament, or of practice.
        specs = (match.spec for match in self._places.newest_matches())
        seeds = {spec.deal.seed for spec in specs if not (spec.own_deal or spec.practice or spec.position)}
        return await self._store.read(self._of_tournaments, numbers, seeds)

    def _of_games(self, games: Sequence[FinishedGame], open_seeds: set[int]) -> dict[int, DealOfGame]:
        store, numbers = self._store.store, defaultdict[int, set[int]](set)
        for seed, number in store.tournaments_of_deals({game.deal_seed for game in games}):
            numbers[seed].add(number)
        plays = {
            number: play_of(own, _highest(map(play_of, others)))
            for number, (own, *others) in store.states_by_deals(set().union(*numbers.values())).items()
        }
        single = [game.match_id for game in games if game.tournament_id is None]
        deals = self._ladder.deals_of_games(single) if single else {}
        open_seeds = open_seeds | self._ladder.open_seeds()
        found = dict[int, DealOfGame]()
        for game in games:
            (deal_id, is_open), seed = deals.get(game.match_id, (None, False)), game.deal_seed
            own = Play.OPEN if is_open else Play.ENDED
            own = max(own, plays.get(game.tournament_id or 0, own))
            others = _highest(plays[number] for number in numbers[seed] & plays.keys())
            elsewhere = Play.OPEN if seed in open_seeds else others
            found[game.match_id] = max(own, min(elsewhere, Play.REPEATED)), deal_id
        return found

    def _of_tournaments(self, numbers: Collection[int], open_seeds: set[int]) -> dict[int, Play]:
        store = self._store.store
        repeated = {number for _, number in store.tournaments_of_deals(open_seeds)} if open_seeds else ()
        return {
            number: Play.OPEN if number in repeated else _highest(map(play_of, others))
            for number, (_, *others) in store.states_by_deals(numbers).items()
        }


def _highest(plays: Iterable[Play]) -> Play:
    return max(plays, default=Play.ENDED)
