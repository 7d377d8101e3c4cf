"""What a store keeps of a ladder."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Select, event, text
from tests.tournament.games import finished

from happycity import BotInfo, Ending
from happycity_ladder import book, entries
from happycity_ladder.book import Book
from happycity_ladder.leaderboard import LeaderboardLine, Score
from happycity_tournament.games import BotProfile, FinishedGame, Fixture
from happycity_tournament.storage.errors import StoreError
from happycity_tournament.storage.store import Store

BOTS = ("ann", "bob", "cem")


def profile(version: str = "1") -> BotProfile:
    return BotProfile(BotInfo(author="zoë", version=version), "sdk/1")


def ladder_with_bots(store: Store) -> Book:
    """Begin a ladder in which version n is the only one of the bot n - 1."""
    ladder = Book(store)
    ladder.open_season(10.0)
    for number, bot in enumerate(BOTS, start=1):
        version = ladder.enter_version(bot, profile(), 11.0, owner=bot, house=bot == "cem")
        assert version.id == number
    return ladder


def begun(ladder: Book, *versions: int, **options: Any) -> entries.LadderDeal:
    new = entries.NewDeal(
        **{"board": "2-family", "kind": entries.DealKind.RATED, **options},
        versions=versions,
        bots=tuple(ladder.versions()[version].bot for version in versions),
    )
    (deal,) = ladder.begin_deals([new], 20.0)
    return deal


def game(
    deal: entries.LadderDeal, rotation: int, match_id: int, *, winner: int, **options: Any
) -> FinishedGame:
    """Return a finished game of a deal that a version wins; the bots' versions are numbered by turns."""
    order = deal.versions[rotation:] + deal.versions[:rotation]
    fixture = Fixture(
        1,
        0,
        rotation,
        deal_seed=deal.deal_seed,
        bots=tuple(BOTS[(version - 1) % len(BOTS)] for version in order),
        bot_seeds=tuple(range(len(order))),
    )
    points = [int(version == winner) for version in order]
    made = finished(fixture, points=points, match_id=match_id, **options)
    return replace(made, tournament_id=None, position=None, ladder=(deal.id, rotation))


def play(ladder: Book, deal: entries.LadderDeal, match_id: int, *, winner: int = 1) -> None:
    rotations = range(len(deal.versions))
    games = [game(deal, rotation, match_id + rotation, winner=winner) for rotation in rotations]
    ladder.store.add_games([(entry, None) for entry in games])


def line_of(ladder: Book) -> LeaderboardLine:
    rating = entries.Rating(elo=1500.25, error=20.5, deals=3, gap=90.0)
    version, score = ladder.versions()[1], Score(games=4, firsts=1)
    return LeaderboardLine(
        rank=1, version=version, rating=rating, provisional=False, inactive=True, score=score
    )


def challenge(**options: Any) -> entries.Challenge:
    return entries.Challenge(
        **{
            "id": 0,
            "bot": "ann",
            "board": "2-family",
            "kind": entries.DealKind.RATED,
            "opponents": (),
            "accepted": (),
            "deals": 1,
            "old_version_id": None,
            "state": entries.ChallengeState.PLAYING,
            "created_at": 12.0,
            "expires_at": 99.0,
            **options,
        }
    )


def test_the_last_game_of_a_deal_finishes_it(store: Store) -> None:
    """It gets the next number, and its games count for the scores of its season; no game counts before."""
    ladder = ladder_with_bots(store)
    first, second = begun(ladder, 1, 2), begun(ladder, 2, 3)
    store.add_games([(game(first, 1, 1, winner=1), None)])
    assert ladder.open_deals() == {1: (first, frozenset({1})), 2: (second, frozenset())}
    assert not ladder.scores(1, "2-family")
    play(ladder, second, 10, winner=3)
    forfeited = [Ending.TIMEOUT, Ending.FINISHED]
    store.add_games([(game(first, 0, 2, winner=2, endings=forfeited), None)])
    assert not ladder.open_deals()
    assert ladder.scores(1, "2-family") == {
        1: Score(games=2, firsts=1, forfeits=1),
        2: Score(games=4, firsts=1),
        3: Score(games=2, firsts=2),
    }
    season = ladder.season()
    assert season is not None
    assert (season.deals, season.games) == (2, 4)
    rated = [deal for _, deal in ladder.rated_deals(0)]
    assert [deal.versions for deal in rated] == [(2, 3), (1, 2)]
    assert [deal.finished for deal in rated] == [1, 2]
    assert rated[0].finished_at <= rated[1].finished_at  # though its last game was over before
    assert rated[1].places == ((2, 1), (1, 2))


def test_deals_that_are_not_rated_count_for_nobody(store: Store) -> None:
    ladder = ladder_with_bots(store)
    made = ladder.add_challenge(challenge(kind=entries.DealKind.CHALLENGE, opponents=("bob",), deals=2))
    for match_id in (10, 20):
        assert ladder.challenge(made.id) == made
        deal = begun(ladder, 1, 2, kind=entries.DealKind.CHALLENGE, challenge_id=made.id)
        assert ladder.deals_of_challenges([made.id]) == {made.id: (match_id // 20, 1)}
        play(ladder, deal, match_id)
    assert ladder.challenge(made.id) == replace(made, state=entries.ChallengeState.FINISHED)
    assert (
        ladder.change_challenge(made.id, entries.ChallengeState.EXPIRED).state
        is entries.ChallengeState.FINISHED
    )
    assert not ladder.scores(1, "2-family")
    assert not list(ladder.rated_deals(0))
    season = ladder.season()
    assert season is not None
    assert (season.deals, season.games) == (0, 4)


def test_challenges_are_found_by_bot_owner_and_state(store: Store) -> None:
    ladder = ladder_with_bots(store)
    ladder.enter_version("a_n", profile(), 12.0, owner="ann")
    assert ladder.bots_of("ann") == ["a_n", "ann"]
    to_bob = ladder.add_challenge(challenge(kind=entries.DealKind.CHALLENGE, opponents=("bob", "a_n")))
    of_bob = ladder.add_challenge(replace(challenge(), bot="bob"))
    other = ladder.add_challenge(
        replace(challenge(kind=entries.DealKind.CHALLENGE, opponents=("bobby",)), bot="cem")
    )
    assert [found.id for found in ladder.challenges(5, of_or_to="bob")] == [of_bob.id, to_bob.id]
    assert [found.id for found in ladder.challenges(5, of_or_to="a_n")] == [to_bob.id]
    assert [found.id for found in ladder.challenges(5, of_or_to="bobby")] == [other.id]
    assert [found.id for found in ladder.challenges(1, of_or_to="bob")] == [of_bob.id]
    assert not ladder.challenges(5, of_or_to="BOB")
    assert ladder.count_challenges(list(entries.ChallengeState)) == 3
    ladder.change_challenge(other.id, entries.ChallengeState.DECLINED)
    assert ladder.count_challenges([entries.ChallengeState.DECLINED]) == 1


def test_no_rotation_is_stored_twice(store: Store) -> None:
    ladder = ladder_with_bots(store)
    deal = begun(ladder, 1, 2)
    store.add_games([(game(deal, 0, 1, winner=1), None)])
    with pytest.raises(StoreError, match="holds already"):
        store.add_games([(game(deal, 0, 2, winner=1), None)])


def test_seeds_follow_from_a_secret(store: Store) -> None:
    """Each deal has cards of its own, which nobody finds out by the id of the deal alone."""
    ladder = ladder_with_bots(store)
    seeds = [begun(ladder, 1, 2).deal_seed for _ in range(3)]
    assert len({*seeds, begun(ladder_with_bots(Store.create("sqlite://")), 1, 2).deal_seed}) == 4
    assert all(0 < seed < 2**53 for seed in seeds)
    assert begun(ladder, 1, 2, deal_seed=seeds[0]).deal_seed == seeds[0]


def test_versions_that_never_played_are_written_over(store: Store) -> None:
    """A bot that reconnects with other texts again and again makes no more than one version."""
    ladder = ladder_with_bots(store)
    for text_of_version in ("2", "3"):
        assert ladder.enter_version("ann", profile(text_of_version), 30.0, owner="ann").id == 1
    begun(ladder, 1, 2)
    new = ladder.enter_version("ann", profile("4"), 40.0, owner="ann")
    assert (new.id, new.first_at, new.profile.info.version) == (4, 40.0, "4")
    begun(ladder, 4, 2)
    assert ladder.enter_version("ann", profile("4"), 50.0, owner="zoe").id == 5
    assert [version.id for version in ladder.versions_of("ann")] == [5, 4, 1]


def test_names_that_never_played_are_forgotten(store: Store) -> None:
    """Anybody may send any number of names; those with a deal or a challenge, and the house, stay."""
    ladder = ladder_with_bots(store)
    begun(ladder, 1, 3)
    ladder.add_challenge(replace(challenge(), bot="bob"))
    again = ladder.enter_version("ann", profile("2"), 20.0, owner="ann").id
    names = [ladder.enter_version(bot, profile(), 20.0, owner=bot).id for bot in ("dan", "eva", "fay")]
    ladder.note_disconnected([1, 2, 3, again, *names[:2]], 30.0)
    assert ladder.versions().keys() == {1, 2, 3, again, names[2]}
    assert {ladder.versions()[version].last_at for version in (1, 2, 3, again)} == {30.0}
    ladder.forget_names()
    assert ladder.versions().keys() == {1, 2, 3, again}
    assert ladder.bots() == 2
    assert ladder.enter_version("dan", profile(), 40.0, owner="dan").id > max(names)


def test_a_bot_gets_so_many_versions_in_a_day(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then its newest version takes each new text, until a day later; another owner makes a new one."""
    ladder = ladder_with_bots(store)

    def enter(number: int, at: float, owner: str = "ann") -> int:
        version = ladder.enter_version("ann", profile(str(number)), at, owner=owner)
        begun(ladder, version.id, 2)
        return version.id

    monkeypatch.setattr(book, "VERSIONS_PER_DAY", 4)
    ids = [enter(number, 12.0 + number) for number in range(9)]
    assert len(set(ids)) == 4
    assert len(set(ids[-6:])) == 1
    assert ladder.versions_of("ann")[0].profile.info.version == "8"
    zoe = enter(0, 100.0, owner="zoe")
    assert zoe > ids[-1]
    assert enter(1, 100.0 + 86400.0, owner="zoe") > zoe


def test_any_number_of_versions_is_read(store: Store) -> None:
    ladder = ladder_with_bots(store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(book, "_IDS_AT_ONCE", 2)
        assert ladder.versions([3, 99, 1, 2]) == ladder.versions()
    assert ladder.versions([]) == {}


def test_what_is_read_of_a_ladder(store: Store) -> None:
    ladder = ladder_with_bots(store)
    made = ladder.add_challenge(challenge(), request_id="r")
    first, second = begun(ladder, 1, 2), begun(ladder, 3, 1, challenge_id=made.id, deal_seed=5)
    dropped = begun(ladder, 2, 3)
    ladder.drop_deal(dropped.id, 30.0)
    play(ladder, second, 100)
    store.add_games([(game(first, 1, 200, winner=2), None)])
    deals: Sequence[tuple[dict[str, Any], list[int]]] = [
        ({}, [3, 2]),
        ({"bot": "ann"}, [2, 1]),
        ({"bot": "cem", "board": "2-family"}, [3, 2]),
        ({"version_id": 2}, [3, 1]),
        ({"board": "3-family"}, []),
        ({"season_id": 1, "kind": entries.DealKind.RATED}, [3, 2]),
        ({"challenge_id": 1}, [2]),
    ]
    for filters, found in deals:
        assert [deal.id for deal in ladder.deals(2, 4, **filters)] == found, filters
    assert ladder.deals(1, deal_id=2**63 - 1) == []
    assert ladder.challenge(2**63) is None
    assert {number: len(games) for number, games in ladder.games_of([1, 2, 9]).items()} == {1: 1, 2: 2, 9: 0}
    assert ladder.deals_of_games([100, 101, 200, 7]) == {100: (2, False), 101: (2, False), 200: (1, True)}
    assert [version.bot for version in ladder.versions([2]).values()] == ["bob"]
    assert [len(list(ladder.rated_deals(after))) for after in (0, 1)] == [1, 0]
    assert ladder.last_finished() == 1
    assert (
        ladder.challenge_of_request("r")
        == ladder.challenge(1)
        == replace(made, state=entries.ChallengeState.FINISHED)
    )
    finished_ones: dict[str, Any] = {"states": [entries.ChallengeState.FINISHED], "bots": ["ann"]}
    assert [len(ladder.challenges(3, **finished_ones, created_after=at)) for at in (11.0, 13.0)] == [1, 0]


def test_ratings_and_beliefs_are_kept(store: Store) -> None:
    """A point may take the place of another one, or of one of its time; so do beliefs of a board."""
    ratings, rating = ladder_with_bots(store), entries.Rating(elo=1500.5, error=0.1, deals=3)
    points = [
        entries.RatingPoint(board="2-family", version_id=1, at=at, rating=rating) for at in (50.0, 51.0)
    ]
    ratings.save_ratings(points)
    newer = replace(points[1], rating=replace(rating, deals=4))
    ratings.save_ratings([newer])
    assert ratings.history("2-family", [1, 2], most=9) == [points[0], newer]
    ratings.save_ratings([replace(newer, at=52.0)], replaced=[newer])
    assert ratings.history("2-family", [1, 2], most=9) == [points[0], replace(newer, at=52.0)]
    for state in (b"\0", b"\xff"):
        ratings.keep_beliefs("2-family", 2, state)
    assert ratings.beliefs("2-family") == (2, b"\xff")


def test_a_season_ends_once(store: Store) -> None:
    """Deals that are still played belong to the season in which they end, whose leaderboard counts them."""
    ladder = ladder_with_bots(store)
    assert ladder.open_season(11.0) == entries.Season(id=1, started_at=10.0)
    deal = begun(ladder, 1, 2)
    store.add_games([(game(deal, 0, 10, winner=1), None)])
    boards = {"2-family": [line_of(ladder)]}
    second = ladder.close_season(1, boards, 40.0)
    assert second == entries.Season(id=2, started_at=40.0)
    assert ladder.close_season(1, {}, 50.0) == second
    store.add_games([(game(deal, 1, 11, winner=1), None)])
    present, first = ladder.seasons(5)
    assert first == entries.Season(id=1, started_at=10.0, ended_at=40.0, closed_after=0)
    assert present == replace(second, deals=1, games=2)
    assert [each.season_id for each in ladder.deals(5)] == [2]
    assert not ladder.scores(1, "2-family")
    assert ladder.scores(2, "2-family")[1] == Score(games=2, firsts=2)
    assert ladder.closed_seasons() == [first]
    assert ladder.leaderboards(1) == boards
    assert ladder.leaderboards(2) == {}


def test_a_ladder_of_an_earlier_version_goes_on(store: Store) -> None:
    """The rows of stored.sql were written before there was a Book."""
    order = (
        "meta",
        "ladder_seasons",
        "ladder_versions",
        "ladder_challenges",
        "acts",
        "ladder_deals",
        "games",
    )
    rows = Path(__file__).with_name("stored.sql").read_text().splitlines()
    named = {row: row.split('"')[1] for row in rows}
    rows.sort(key=lambda row: order.index(named[row]) if named[row] in order else len(order))
    with store.writing() as connection:
        for row in rows:
            if connection.dialect.name == "postgresql":
                row = re.sub(r"X'(.*?)'", r"'\\x\1'", row)  # noqa: PLW2901 - the same bytes
            connection.execute(text(row.replace(":", "\\:")))
    ladder = Book(store)
    states = [deal.state for deal in ladder.deals(9)]
    assert states == [getattr(entries.DealState, name) for name in ("OPEN", "VOIDED", "FINISHED", "FINISHED")]
    assert ladder.leaderboards(1) == {"2-family": [line_of(ladder)]}
    assert [(season.deals, season.games) for season in ladder.seasons(9)] == [(0, 0), (1, 6)]
    known = ladder.challenge_of_request("r")
    assert known is not None
    assert (known.state, known.opponents) == (entries.ChallengeState.PLAYING, ("bob",))
    assert [one.kind.value for one in ladder.actions(9)] == ["suspend", "void"]
    assert [*ladder.suspended()] == ["ann"]
    assert [point.rating.elo for point in ladder.history("2-family", [1], most=9)] == [1510.5]
    assert ladder.beliefs("2-family") == (3, b"{}")
    ((running, played),) = ladder.open_deals().values()
    assert played == {1}
    store.add_games([(game(running, 0, 40, winner=1), None)])
    assert not ladder.open_deals()
    assert [deal.id for _, deal in ladder.rated_deals(0)] == [1, 4]
    assert ladder.scores(2, "2-family")[1] == Score(games=2, firsts=2)


def test_damaged_rows_are_left_out_and_nothing_else(store: Store) -> None:
    """Others come in their place in a list; no rating follows from a moment that there isn't."""
    ladder = ladder_with_bots(store)
    for number in range(5):
        play(ladder, begun(ladder, 1, 2), 10 * number)
    with store.writing() as connection:
        connection.execute(text("UPDATE ladder_deals SET kind = 'of a later version' WHERE id = 4"))
        connection.execute(text("UPDATE ladder_deals SET finished_at = 1e308 WHERE id = 2"))
    assert [deal.id for deal in ladder.deals(3)] == [5, 3, 2]
    assert [deal.id for _, deal in ladder.rated_deals(0)] == [1, 3, 5]


LISTS: Sequence[dict[str, Any]] = (
    {},
    {"bot": "ann"},
    {"version_id": 1},
    {"bot": "ann", "board": "2-family", "kind": entries.DealKind.RATED},
    {"board": "2-family"},
    {"season_id": 1},
    {"kind": entries.DealKind.CHALLENGE},
    {"challenge_id": 1},
)


def test_lists_of_deals_take_the_newest_from_an_index() -> None:
    """However many deals there are, a page neither sorts nor goes through all of them, in SQLite."""
    plan: list[str] = []

    def explain(connection: Any, query: Any, *_: Any) -> None:
        if isinstance(query, Select):
            compiled = query.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True})
            plan.extend(row.detail for row in connection.execute(text(f"EXPLAIN QUERY PLAN {compiled}")))

    with Store.create("sqlite://") as store:
        ladder = ladder_with_bots(store)
        with store.writing() as connection:
            deals = "INSERT INTO ladder_deals (season_id, board, kind, versions, deal_seed, started_at) "
            numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
            each = "SELECT 1, '2-family', 'rated', '[1, 2]', '7', 1.0 FROM n"
            seats = "INSERT INTO ladder_seats SELECT v.id, d.id, v.bot FROM ladder_deals d, ladder_versions v"
            for statement in (f"{deals}{numbers}{each}", seats, "ANALYZE"):
                connection.execute(text(statement))
        with store.reading() as connection:
            engine = connection.engine
        event.listen(engine, "before_execute", explain)
        for filters in LISTS:
            plan.clear()
            assert ladder.deals(50, 2000, **filters) or filters.keys() & {"kind", "challenge_id"}
            assert plan
            assert all(step.startswith("SEARCH") for step in plan), (filters, plan)
