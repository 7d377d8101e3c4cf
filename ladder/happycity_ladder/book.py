"""The ladder in the store: seasons, versions, deals, challenges, actions of organisers, and ratings.

Its games get there by `Store.add_games`.
"""

from __future__ import annotations

import json
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from functools import partial
from itertools import groupby, islice
from types import MappingProxyType
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    Insert,
    Row,
    Select,
    Update,
    delete,
    exists,
    func,
    insert,
    select,
    update,
)

from happycity_ladder.entries import (
    ActionKind,
    Challenge,
    ChallengeState,
    DealKind,
    DealLuck,
    LadderDeal,
    ModerationAction,
    NewDeal,
    RatedDeal,
    Rating,
    RatingPoint,
    Season,
    Version,
)
from happycity_ladder.ladder_config import deal_seed, season_secret
from happycity_ladder.ladder_rows import (
    action_of,
    add_ladder_games,
    deal_luck_of,
    deals_by_game,
    entry_of,
    last_finished,
    rated_deal_of,
    readable,
    row_of,
    version_of,
)
from happycity_ladder.leaderboard import LeaderboardLine, Score
from happycity_ladder.moderation import ACTIONS, add_action, rename_participant, void_deals
from happycity_tournament.games import LARGEST_ID, BotProfile, FinishedGame
from happycity_tournament.plain_json import adapter
from happycity_tournament.proof.commitment import Commitment, canonical
from happycity_tournament.storage.database import DAMAGED
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.rows import GAME_COLUMNS, game_of, mentions
from happycity_tournament.storage.schema import (
    LADDER_SECRET_KEY,
    acts,
    games,
    ladder_beliefs,
    ladder_challenges,
    ladder_deals,
    ladder_games,
    ladder_ratings,
    ladder_scores,
    ladder_seasons,
    ladder_seats,
    ladder_versions,
    meta,
)
from happycity_tournament.storage.store import Store

VERSIONS_LISTED = 100
"""Versions of a bot that are listed, the newest ones."""
VERSIONS_PER_DAY = 50
"""New versions of a bot in 24 hours: each of them stays in the store and in the ratings for good."""
DealsBegun = dict[str, dict[int, Counter[str]]]
"""How many deals were begun, by bot, version and board."""
_DAY = 86400.0
_IDS_AT_ONCE = 500
"""Ids in a query, whose number databases bound."""
ENDED_EARLY = (ChallengeState.DECLINED, ChallengeState.EXPIRED, ChallengeState.WITHDRAWN)
"""States of challenges that ended before all their deals were played."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_T = TypeVar("_T")


class Book:
    """All that is stored of a ladder; each method is one transaction and raises StoreError."""

    def __init__(self, store: Store) -> None:
        """Keep a ladder in a store, which finishes deals with their last games from now on."""
        self.store = store
        store.on_ladder_games = add_ladder_games

    # Seasons

    def season(self, season_id: int | None = None) -> Season | None:
        """Return a season, without an id the present one; None if there is none."""
        query = select(ladder_seasons).order_by(ladder_seasons.c.id.desc()).limit(1)
        if season_id is not None:
            query = query.where(ladder_seasons.c.id == season_id)
        return next(iter(self._all(query, _season_of)), None)

    def seasons(self, limit: int | None, before_id: int | None = None) -> list[Season]:
        """Return up to `limit` seasons with ids below `before_id`, newest first."""
        return self._newest(select(ladder_seasons), ladder_seasons.c.id, _season_of, limit, before_id)

    def closed_seasons(self) -> list[Season]:
        """Return all seasons that have ended, oldest first."""
        return [season for season in self.seasons(None)[::-1] if season.ended_at is not None]

    def open_season(self, at: float, config: Mapping[str, Any] = _NOTHING) -> Season:
        """Return the present season; begin the first one if there is none, and commit to `config` for it."""
        with self.store.writing() as connection:
            row = _present_season(connection) or _begin_season(connection, at, config)
            return self._required(row, _season_of)

    def close_season(
        self,
        season_id: int,
        leaderboards: Mapping[str, Sequence[LeaderboardLine]],
        at: float,
        config: Mapping[str, Any] = _NOTHING,
        *,
        last: int | None = None,
    ) -> Season:
        """End a season with its leaderboards, by board, and begin the next with `config`; return that.

        If another deal than `last` was finished last, the leaderboards lack it, and the season goes on. One
        that has ended already stays as it is.
        """
        kept = {board: list(map(line_row, lines)) for board, lines in leaderboards.items()}
        own = ladder_seasons.c.id == season_id, ladder_seasons.c.ended_at.is_(None)
        with self.store.writing() as connection:
            number = last_finished(connection)[0]
            end = {"ended_at": at, "leaderboards": json.dumps(kept), "closed_after": number}
            closed = update(ladder_seasons).where(*own).values(end)
            has_closed = last in (None, number) and connection.execute(closed).rowcount
            row = _begin_season(connection, at, config) if has_closed else _present_season(connection)
            return self._required(row, _season_of)

    def leaderboards(self, season_id: int) -> dict[str, Sequence[LeaderboardLine]]:
        """Return the leaderboards of a season that has ended, by board; none of any other."""
        query = select(ladder_seasons.c.leaderboards).where(ladder_seasons.c.id == season_id)
        stored = self._all(
            query,
            lambda row: adapter(dict[str, list[dict[str, Any]]]).validate_json(row.leaderboards or "{}"),
        )
        boards = stored[0] if stored else {}
        ids = {line.get("version") for lines in boards.values() for line in lines}
        versions = self.versions([number for number in ids if isinstance(number, int)])

        def read(line: dict[str, Any]) -> LeaderboardLine:
            return adapter(LeaderboardLine).validate_python(line | {"version": versions[line["version"]]})

        return {
            board: [line for one in lines if (line := readable(read, one)) is not None]
            for board, lines in boards.items()
        }

    def scores(self, season_id: int, board: str) -> dict[int, Score]:
        """Return the rated games of finished deals on a board in a season, by version."""
        own = ladder_scores.c.season_id == season_id, ladder_scores.c.board == board
        query = select(ladder_scores).where(*own)
        return dict(self._all(query, lambda row: (row.version_id, entry_of(Score, row))))

    # Versions

    def enter_version(
        self, bot: str, profile: BotProfile, at: float, *, owner: str, house: bool = False
    ) -> Version:
        """Note that a bot has connected; return its version, a new one for another version text or owner.

        A version that hasn't played takes the new text instead, and so does the newest one when a bot has had
        `VERSIONS_PER_DAY`: a bot that connects again and again doesn't fill the store.
        """
        info = asdict(profile.info)
        said = {**info, "software": profile.software, "owner": owner, "house": int(house), "last_at": at}
        own = select(ladder_versions).where(ladder_versions.c.bot == bot)
        with self.store.writing() as connection:
            last = connection.execute(own.order_by(ladder_versions.c.id.desc()).limit(1)).first()
            same = last is not None and (last.version, last.owner) == (info["version"], owner)
            if last is not None and (
                same
                or not _has_played(connection, last.id)
                or (last.owner == owner and _newer_versions(connection, bot, at - _DAY) >= VERSIONS_PER_DAY)
            ):
                change: Insert | Update = update(ladder_versions).where(ladder_versions.c.id == last.id)
            else:
                change = insert(ladder_versions).values(bot=bot, first_at=at)
            return version_of(connection.execute(change.values(said).returning(ladder_versions)).one())

    def note_present(self, version_ids: Collection[int], at: float) -> None:
        """Note that versions are, or were until now, connected."""
        present = update(ladder_versions).where(ladder_versions.c.id.in_(version_ids))
        with self.store.writing() as connection:
            connection.execute(present.values(last_at=at))

    def note_disconnected(self, version_ids: Collection[int], at: float) -> None:
        """Note that versions are connected no longer, and forget those that `forget_names` would."""
        gone = ladder_versions.c.id.in_(version_ids)
        with self.store.writing() as connection:
            connection.execute(update(ladder_versions).where(gone).values(last_at=at))
            connection.execute(delete(ladder_versions).where(gone, *_is_forgettable()))

    def forget_names(self) -> None:
        """Forget the guests that never played and have no challenge: any caller may send any name."""
        with self.store.writing() as connection:
            connection.execute(delete(ladder_versions).where(*_is_forgettable()))

    def versions(self, version_ids: Collection[int] | None = None) -> dict[int, Version]:
        """Return versions by id: these, or all."""
        query = select(ladder_versions).order_by(ladder_versions.c.id)
        if version_ids is None:
            return {version.id: version for version in self._all(query, version_of)}
        ids, found = sorted(version_ids), dict[int, Version]()
        for first in range(0, len(ids), _IDS_AT_ONCE):
            some = query.where(ladder_versions.c.id.in_(ids[first : first + _IDS_AT_ONCE]))
            found.update((version.id, version) for version in self._all(some, version_of))
        return found

    def versions_of(self, bot: str) -> list[Version]:
        """Return the newest versions of a bot, newest first."""
        query = select(ladder_versions).where(ladder_versions.c.bot == bot)
        return self._all(query.order_by(ladder_versions.c.id.desc()).limit(VERSIONS_LISTED), version_of)

    def bots_of(self, owner: str) -> list[str]:
        """Return the bots that belong to an owner, or did."""
        query = select(ladder_versions.c.bot).where(ladder_versions.c.owner == owner).distinct()
        return self._all(query.order_by(ladder_versions.c.bot), lambda row: str(row.bot))

    def bots(self) -> int:
        """Return how many bots have played or are connected, those of the house not counted."""
        query = select(func.count(func.distinct(ladder_versions.c.bot))).where(ladder_versions.c.house == 0)
        return self._all(query, lambda row: int(row[0]))[0]

    # Deals

    def begin_deals(self, deals: Sequence[NewDeal], at: float) -> list[LadderDeal]:
        """Store deals that begin in the present season, each with cards of its own, unless it names some."""
        with self.store.writing() as connection:
            season_id = connection.scalar(select(func.max(ladder_seasons.c.id))) or 0
            seed, _ = season_secret(_secret(connection), season_id)
            return [_begin_deal(connection, season_id, deal, at, seed) for deal in deals]

    def drop_deal(self, deal_id: int, at: float) -> None:
        """Give up a deal that isn't finished."""
        own = update(ladder_deals).where(ladder_deals.c.id == deal_id, ladder_deals.c.finished.is_(None))
        with self.store.writing() as connection:
            connection.execute(own.values(finished=0, finished_at=at))

    def deals(
        self,
        limit: int,
        before_id: int | None = None,
        *,
        deal_id: int | None = None,
        bot: str | None = None,
        version_id: int | None = None,
        board: str | None = None,
        season_id: int | None = None,
        kind: DealKind | None = None,
        challenge_id: int | None = None,
    ) -> list[LadderDeal]:
        """Return up to `limit` deals, newest first; each argument but None leaves others out."""
        query = select(ladder_deals)
        key: Any = ladder_deals.c.id
        if bot is not None or version_id is not None:
            # The seats' indexes have the deals of a bot in their order.
            key = ladder_seats.c.deal_id
            query = query.join_from(ladder_seats, ladder_deals, ladder_deals.c.id == key)
        filters = (
            (ladder_deals.c.id, deal_id),
            (ladder_seats.c.bot, bot),
            (ladder_seats.c.version_id, version_id),
            (ladder_deals.c.board, board),
            (ladder_deals.c.season_id, season_id),
            (ladder_deals.c.kind, None if kind is None else kind.value),
            (ladder_deals.c.challenge_id, challenge_id),
        )
        query = query.where(*(column == value for column, value in filters if value is not None))
        return self._newest(query, key, _deal_of, limit, before_id)

    def rated_deals_begun(self, since: float) -> DealsBegun:
        """Return how many rated deals were begun since a time; dropped ones too."""
        # Ids go up with time: so the newest deal before that time is found without reading all older ones.
        before = select(ladder_deals.c.id).where(ladder_deals.c.started_at < since)
        before = before.order_by(ladder_deals.c.id.desc()).limit(1)
        keys = ladder_seats.c.bot, ladder_seats.c.version_id, ladder_deals.c.board
        query = select(*keys, func.count())
        query = query.join_from(ladder_deals, ladder_seats, ladder_seats.c.deal_id == ladder_deals.c.id)
        with self.store.reading() as connection:
            newer = ladder_deals.c.id > (connection.scalar(before) or 0)
            own = query.where(newer, ladder_deals.c.kind == DealKind.RATED.value)
            rows = connection.execute(own.group_by(*keys))
            begun: DealsBegun = {}
            for bot, version, board, count in rows:
                begun.setdefault(bot, {}).setdefault(version, Counter())[board] = count
            return begun

    def finished_deals(self, last: int) -> list[LadderDeal]:
        """Return all deals that were finished up to a number, in the order of these."""
        own = ladder_deals.c.finished.between(1, last)
        return self._all(select(ladder_deals).where(own).order_by(ladder_deals.c.finished), _deal_of)

    def secret(self) -> int:
        """Return the secret from which the seeds of all seasons follow."""
        with self.store.reading() as connection:
            return _secret(connection)

    def open_deals(self) -> dict[int, tuple[LadderDeal, frozenset[int]]]:
        """Return the deals that are neither finished nor dropped, each with the rotations that are played."""
        is_open = ladder_deals.c.finished.is_(None)
        with self.store.reading() as connection:
            rows = connection.execute(select(ladder_deals).where(is_open).order_by(ladder_deals.c.id))
            found = [deal for row in rows if (deal := readable(_deal_of, row)) is not None]
            own = select(ladder_games.c.deal_id, ladder_games.c.rotation).join(
                ladder_deals, ladder_deals.c.id == ladder_games.c.deal_id
            )
            played = defaultdict(set)
            for deal_id, rotation in connection.execute(own.where(is_open)):
                played[deal_id].add(rotation)
        return {deal.id: (deal, frozenset(played[deal.id])) for deal in found}

    def open_seeds(self) -> set[int]:
        """Return the seeds of the deals that are neither finished nor dropped."""
        query = select(ladder_deals.c.deal_seed).where(ladder_deals.c.finished.is_(None))
        return set(self._all(query, lambda row: int(row.deal_seed)))

    def games_of(self, deal_ids: Collection[int]) -> dict[int, list[FinishedGame]]:
        """Return the stored games of deals, in the order of the rotations."""
        query = (
            select(*GAME_COLUMNS, ladder_games.c.deal_id, ladder_games.c.rotation.label("of_deal"))
            .join(ladder_games, ladder_games.c.game_id == games.c.id)
            .where(ladder_games.c.deal_id.in_(deal_ids))
            .order_by(ladder_games.c.deal_id, ladder_games.c.rotation)
        )
        found: dict[int, list[FinishedGame]] = {deal_id: [] for deal_id in deal_ids}
        for game in self._all(query, lambda row: replace(game_of(row), ladder=(row.deal_id, row.of_deal))):
            assert game.ladder is not None
            found[game.ladder[0]].append(game)
        return found

    def deals_of_games(self, match_ids: Collection[int]) -> dict[int, tuple[int, bool]]:
        """Return by match id the deals of those games that are of the ladder, and whether they are open."""
        query = select(ladder_games.c.game_id, ladder_deals.c.id, ladder_deals.c.finished)
        query = query.join_from(ladder_games, ladder_deals, ladder_games.c.deal_id == ladder_deals.c.id)
        with self.store.reading() as connection:
            rows = connection.execute(query.where(ladder_games.c.game_id.in_(match_ids)))
            return {match_id: (deal_id, type(number) is not int) for match_id, deal_id, number in rows}

    # Challenges

    def add_challenge(self, challenge: Challenge, *, request_id: str | None = None) -> Challenge:
        """Store a new challenge; return it with its id. No other may have the `request_id`."""
        row = row_of(challenge, "id") | {"request_id": request_id}
        with self.store.writing() as connection:
            new = insert(ladder_challenges).values(row).returning(ladder_challenges)
            return _challenge_of(connection.execute(new).one())

    def challenge(self, challenge_id: int) -> Challenge | None:
        """Return a challenge, None if there is none with this id."""
        return self._challenge(ladder_challenges.c.id == min(challenge_id, LARGEST_ID))

    def challenge_of_request(self, request_id: str) -> Challenge | None:
        """Return the challenge that a request has made, None if there is none."""
        return self._challenge(ladder_challenges.c.request_id == request_id)

    def challenges(
        self,
        limit: int | None,
        before_id: int | None = None,
        *,
        states: Collection[ChallengeState] | None = None,
        bots: Collection[str] | None = None,
        of_or_to: str | None = None,
        created_after: float | None = None,
    ) -> list[Challenge]:
        """Return up to `limit` challenges, newest first; each argument but None leaves others out.

        They have ids below `before_id`, stand in one of `states`, were made for one of `bots`, have the bot
        `of_or_to` at the table, and were made later than `created_after`, Unix time in seconds.
        """
        table = ladder_challenges.c
        query = select(ladder_challenges)
        if states is not None:
            query = query.where(table.state.in_([state.value for state in states]))
        if bots is not None:
            query = query.where(table.bot.in_(bots))
        if created_after is not None:
            query = query.where(table.created_at > created_after)
        if of_or_to is not None:
            query = query.where((table.bot == of_or_to) | mentions(table.opponents, of_or_to))

        def read(row: Row[Any]) -> Challenge | None:
            found = _challenge_of(row)
            return found if of_or_to is None or of_or_to in (found.bot, *found.opponents) else None

        return self._newest(query, table.id, read, limit, before_id)

    def count_challenges(self, states: Collection[ChallengeState]) -> int:
        """Return how many challenges stand in one of some states."""
        own = ladder_challenges.c.state.in_([state.value for state in states])
        with self.store.reading() as connection:
            return int(connection.scalar(select(func.count()).where(own)) or 0)

    def change_challenge(self, challenge_id: int, state: ChallengeState, **columns: Any) -> Challenge:
        """Change where a challenge stands, and other columns; return it.

        One that is neither open nor being played stays as it is.
        """
        active = (ChallengeState.OPEN.value, ChallengeState.PLAYING.value)
        own = ladder_challenges.c.id == challenge_id
        change = update(ladder_challenges).where(own, ladder_challenges.c.state.in_(active))
        with self.store.writing() as connection:
            connection.execute(change.values(state=state.value, **columns))
            return _challenge_of(connection.execute(select(ladder_challenges).where(own)).one())

    def forget_challenges(self, expired_before: float) -> None:
        """Delete the challenges that ended without a deal and whose time was over before, Unix time."""
        broken_off = [state.value for state in ENDED_EARLY]
        without_deal = ~exists().where(ladder_deals.c.challenge_id == ladder_challenges.c.id)
        own = ladder_challenges.c.state.in_(broken_off), ladder_challenges.c.expires_at < expired_before
        with self.store.writing() as connection:
            connection.execute(delete(ladder_challenges).where(*own, without_deal))

    def deals_of_challenges(self, challenge_ids: Collection[int]) -> dict[int, tuple[int, int]]:
        """Return how many deals of challenges are finished, and how many are being played."""
        finished = func.count().filter(ladder_deals.c.finished > 0)
        is_open = func.count().filter(ladder_deals.c.finished.is_(None))
        query = (
            select(ladder_deals.c.challenge_id, finished, is_open)
            .where(ladder_deals.c.challenge_id.in_(challenge_ids))
            .group_by(ladder_deals.c.challenge_id)
        )
        counted = dict.fromkeys(challenge_ids, (0, 0))
        with self.store.reading() as connection:
            for challenge_id, done, running in connection.execute(query):
                counted[challenge_id] = done, running
        return counted

    def _challenge(self, condition: ColumnElement[bool]) -> Challenge | None:
        return next(iter(self._all(select(ladder_challenges).where(condition), _challenge_of)), None)

    # Actions of organisers

    def actions(
        self, limit: int | None, before_id: int | None = None, *, bot: str | None = None
    ) -> list[ModerationAction]:
        """Return up to `limit` actions of organisers, newest first: with ids below `before_id`, on a bot."""
        query = ACTIONS if bot is None else ACTIONS.where(ladder_versions.c.bot == bot)
        return self._newest(query, acts.c.id, action_of, limit, before_id)

    def suspended(self) -> dict[str, ModerationAction]:
        """Return the suspended bots, each with the action."""
        kinds = ActionKind.SUSPEND, ActionKind.RESTORE
        last = {action.bot: action for action in reversed(self.actions(None)) if action.kind in kinds}
        return {bot: action for bot, action in last.items() if bot and action.kind is ActionKind.SUSPEND}

    def add_action(self, action: ModerationAction) -> ModerationAction:
        """Store an action on a bot of the ladder that changes nothing else."""
        with self.store.writing() as connection:
            return add_action(connection, action, ladder_versions.c.bot == action.bot)

    def void(
        self, action: ModerationAction, deal_ids: Collection[int] = ()
    ) -> tuple[ModerationAction, set[str]]:
        """Void finished deals; arguments, result and errors are those of `void_deals`."""
        with self.store.writing() as connection:
            return void_deals(connection, action, deal_ids)

    def rename(
        self, action: ModerationAction, new_owner: str | None, *, has_tokens: bool
    ) -> ModerationAction:
        """Rename a participant; arguments, result and errors are those of `rename_participant`."""
        with self.store.writing() as connection:
            return rename_participant(connection, action, new_owner, has_tokens=has_tokens)

    # Ratings

    def rated_deals(self, after: int) -> Generator[tuple[str, RatedDeal]]:
        """Yield the finished rated deals that count with numbers above `after`, in order, and boards."""
        query = (
            deals_by_game()
            .where(ladder_deals.c.finished > after, ladder_deals.c.kind == DealKind.RATED.value)
            .where(ladder_deals.c.act_id.is_(None))
            .order_by(ladder_deals.c.finished, ladder_games.c.rotation)
        )
        with closing(self._stream(query, lambda row: row)) as rows:
            for _, games_of_deal in groupby(rows, lambda row: row.id):
                own = list(games_of_deal)
                if (deal := readable(rated_deal_of, own)) is not None:
                    yield own[0].board, deal

    def keep_luck(self, deal_id: int, places: Sequence[float]) -> None:
        """Keep what the bots of a finished deal won by luck, as `DealLuck` has it."""
        change = update(ladder_deals).where(ladder_deals.c.id == deal_id)
        with self.store.writing() as connection:
            connection.execute(change.values(luck=json.dumps(places)))

    def luck_of_deals(self, after: int, last: int) -> Generator[tuple[str, DealLuck]]:
        """Yield the luck of the rated deals that count with numbers from above `after` to `last`, and boards.

        Deals whose luck wasn't computed are left out.
        """
        columns = ladder_deals.c
        own = columns.finished > after, columns.finished <= last, columns.act_id.is_(None)
        query = select(columns.board, columns.id, columns.versions, columns.luck)
        query = query.where(*own, columns.kind == DealKind.RATED.value, columns.luck.is_not(None))
        with closing(self._stream(query, lambda row: (row.board, deal_luck_of(row)))) as rows:
            yield from rows

    def last_finished(self) -> int:
        """Return the number of the deal that was finished last, 0 without any."""
        with self.store.reading() as connection:
            return last_finished(connection)[0]

    def save_ratings(self, points: Sequence[RatingPoint], *, replaced: Sequence[RatingPoint] = ()) -> None:
        """Add points to the history, in place of `replaced` and of any with the same key."""
        rows = [
            {"board": point.board, "version_id": point.version_id, "at": point.at, **asdict(point.rating)}
            for point in points
        ]
        with self.store.writing() as connection:
            for point in (*replaced, *points):
                connection.execute(delete(ladder_ratings).where(*_is_point(point)))
            if rows:
                connection.execute(insert(ladder_ratings), rows)

    def history(self, board: str, version_ids: Collection[int], *, most: int) -> list[RatingPoint]:
        """Return the ratings of versions on a board over time, oldest first: `most`, with the latest."""
        own = ladder_ratings.c.board == board, ladder_ratings.c.version_id.in_(version_ids)
        number = func.row_number().over(order_by=ladder_ratings.c.at.desc()) - 1
        points = select(ladder_ratings, number.label("number"), func.count().over().label("points"))
        rows = points.where(*own).subquery()
        step = (rows.c.points + most - 1) // most
        query = select(rows).where(rows.c.number % step == 0).order_by(rows.c.at)
        return self._all(query, lambda row: entry_of(RatingPoint, row, rating=entry_of(Rating, row)))

    def beliefs(self, board: str) -> tuple[int, bytes] | None:
        """Return what was kept of a board, after the number of its last deal; None if nothing was."""
        query = select(ladder_beliefs).where(ladder_beliefs.c.board == board)
        with self.store.reading() as connection:
            kept = connection.execute(query).first()
        return None if kept is None else (kept.finished, bytes(kept.beliefs))

    def keep_beliefs(self, board: str, finished: int, beliefs: bytes) -> None:
        """Keep what is known of the ratings of a board after the deals up to the number `finished`."""
        with self.store.writing() as connection:
            connection.execute(delete(ladder_beliefs).where(ladder_beliefs.c.board == board))
            row = {"board": board, "finished": finished, "beliefs": beliefs}
            connection.execute(insert(ladder_beliefs).values(row))

    def _newest(
        self,
        query: Select[Any],
        key: ColumnElement[int],
        read: Callable[[Row[Any]], _T | None],
        limit: int | None,
        before_id: int | None,
    ) -> list[_T]:
        """Return up to `limit` entries with keys below `before_id`, newest first, that can be read."""
        query = query.order_by(key.desc())
        if before_id is not None:
            query = query.where(key < before_id)
        with self.store.reading() as connection:
            rows = connection.execute(query.limit(limit)).all()
        found = [entry for row in rows if (entry := readable(read, row)) is not None]
        if len(found) == len(rows):
            return found
        with closing(self._stream(query, read)) as entries:  # others come in place of those left out
            return list(islice(entries, limit))

    def _all(self, query: Select[Any], read: Callable[[Row[Any]], _T | None]) -> list[_T]:
        """Return what can be read of the rows of a query: one that is damaged hides no other."""
        return list(self._stream(query, read))

    def _stream(self, query: Select[Any], read: Callable[[Row[Any]], _T | None]) -> Generator[_T]:
        """Yield the same row by row, of which few are in memory at once."""
        with closing(self.store.stream(query, partial(readable, read))) as entries:
            yield from (entry for entry in entries if entry is not None)

    def _required(self, row: Row[Any] | None, read: Callable[[Row[Any]], _T]) -> _T:
        """Read a row without which nothing goes on."""
        if row is None or (entry := readable(read, row)) is None:
            raise StoreError(self.store.url, DAMAGED)
        return entry


_season_of = partial(entry_of, Season)
_deal_of = partial(entry_of, LadderDeal)
_challenge_of = partial(entry_of, Challenge)


def line_row(line: LeaderboardLine) -> dict[str, Any]:
    """Return a line as a season keeps it, with its version by the id: its bot may be renamed."""
    return row_of(line, "version") | {"version": line.version.id}


def _present_season(connection: Connection) -> Row[Any] | None:
    return connection.execute(select(ladder_seasons).order_by(ladder_seasons.c.id.desc()).limit(1)).first()


def _begin_season(connection: Connection, at: float, config: Mapping[str, Any]) -> Row[Any]:
    first_deal = 1 + (connection.scalar(select(func.max(ladder_deals.c.id))) or 0)
    season = {"started_at": at, "first_deal": first_deal, "commitment": ""}
    season |= {"leaderboards": "", "deals": 0, "games": 0}
    new = insert(ladder_seasons).values(season).returning(ladder_seasons.c.id)
    season_id = connection.execute(new).scalar_one()
    seed, salt = season_secret(_secret(connection), season_id)
    committed = canonical(Commitment(seed=seed, salt=salt, config=config).public()).decode()
    own = update(ladder_seasons).where(ladder_seasons.c.id == season_id)
    return connection.execute(own.values(commitment=committed).returning(ladder_seasons)).one()


def _is_forgettable() -> Sequence[Any]:
    """Return the conditions that a version's bot is a guest without a deal and without a challenge."""
    bot = ladder_versions.c.bot
    return (
        ladder_versions.c.house == 0,
        ~exists().where(ladder_seats.c.bot == bot),
        ~exists().where(ladder_challenges.c.bot == bot),
        ~exists().where(acts.c.version_id == ladder_versions.c.id),
    )


def _has_played(connection: Connection, version_id: int) -> bool:
    own = select(ladder_seats.c.deal_id).where(ladder_seats.c.version_id == version_id)
    return connection.execute(own.limit(1)).first() is not None


def _newer_versions(connection: Connection, bot: str, since: float) -> int:
    """Return how many versions a bot has had since a time."""
    own = ladder_versions.c.bot == bot, ladder_versions.c.first_at > since
    return int(connection.scalar(select(func.count()).select_from(ladder_versions).where(*own)) or 0)


def _secret(connection: Connection) -> int:
    """Return the ladder's secret, which is made once."""
    query = select(meta.c.value).where(meta.c.key == LADDER_SECRET_KEY)
    known = connection.scalar(query)
    if known is None:
        known = str(secrets.randbits(128))
        connection.execute(insert(meta).values(key=LADDER_SECRET_KEY, value=known))
    return int(known)


def _begin_deal(connection: Connection, season_id: int, deal: NewDeal, at: float, secret: int) -> LadderDeal:
    row = row_of(deal, "bots", "wanted_by") | {"season_id": season_id, "started_at": at, "deal_seed": ""}
    new = insert(ladder_deals).values(row).returning(ladder_deals.c.id)
    deal_id = connection.execute(new).scalar_one()
    seed = deal_seed(secret, deal_id) if deal.deal_seed is None else deal.deal_seed
    own = update(ladder_deals).where(ladder_deals.c.id == deal_id)
    seats = zip(deal.versions, deal.bots, strict=True)
    connection.execute(
        insert(ladder_seats),
        [{"version_id": version, "deal_id": deal_id, "bot": bot} for version, bot in seats],
    )
    seeded = own.values(deal_seed=str(seed)).returning(ladder_deals)  # which follows from the id
    return _deal_of(connection.execute(seeded).one())


def _is_point(point: RatingPoint) -> Iterable[Any]:
    key = {"board": point.board, "version_id": point.version_id, "at": point.at}
    return (ladder_ratings.c[name] == value for name, value in key.items())
