"""The acts of organisers in the store: what they change."""

from collections.abc import Callable

import pytest
from sqlalchemy import text
from tests.ladder.test_book import begun, challenge, game, ladder_with_bots, line_of, play

from happycity import ConfigError
from happycity_ladder.entries import ActionKind, DealState, ModerationAction
from happycity_ladder.leaderboard import Score
from happycity_tournament.storage.store import Store


def act(kind: ActionKind, **changes: object) -> ModerationAction:
    fields = {"at": 50.0, "organiser": "olga", "text": "colludes with cem", "kind": kind, **changes}
    return ModerationAction(**fields)  # type: ignore[arg-type]


def test_the_last_act_to_a_bot_says_whether_it_is_suspended(store: Store) -> None:
    """Acts are listed newest first, those of one bot too."""
    stored = ladder_with_bots(store)
    for kind, bot in ((ActionKind.SUSPEND, "ann"), (ActionKind.SUSPEND, "bob"), (ActionKind.RESTORE, "ann")):
        stored.add_action(act(kind, bot=bot))
    assert list(stored.suspended()) == ["bob"]
    assert stored.suspended()["bob"] == act(ActionKind.SUSPEND, bot="bob", owner="bob", id=2)
    assert [one.id for one in stored.actions(2)] == [3, 2]
    assert [one.id for one in stored.actions(9, 3, bot="ann")] == [1]


@pytest.mark.parametrize("named", [False, True])
def test_voided_deals_count_for_nothing(store: Store, *, named: bool) -> None:
    """Scores and seasons are those of the other deals, and ratings are made again; games stay."""
    ladder = ladder_with_bots(store)
    first, second, running = begun(ladder, 1, 2), begun(ladder, 2, 3), begun(ladder, 1, 3)
    play(ladder, first, 10, winner=1)
    play(ladder, second, 20, winner=3)
    ladder.keep_beliefs("2-family", 2, b"{}")
    void = act(ActionKind.VOID, bot=None if named else "ann")
    done, boards = ladder.void(void, [first.id] if named else ())
    assert (done.deals, done.bot, boards) == (1, None if named else "ann", {"2-family"})
    assert {deal.id: deal.state for deal in ladder.deals(9)} == {
        first.id: DealState.VOIDED,
        second.id: DealState.FINISHED,
        running.id: DealState.OPEN,
    }
    assert [deal.id for _, deal in ladder.rated_deals(0)] == [second.id]
    scores = ladder.scores(1, "2-family")
    assert (scores[1], scores[2], scores[3]) == (Score(), Score(games=2), Score(games=2, firsts=2))
    season = ladder.season()
    assert season is not None
    assert season.deals == 1
    assert ladder.beliefs("2-family") is None
    assert len(ladder.games_of([first.id])[first.id]) == 2
    for wrong in ([first.id], [running.id], [99]):
        with pytest.raises(ConfigError, match=rf"^deal_ids: deal {wrong[0]} is not finished"):
            ladder.void(act(ActionKind.VOID), wrong)
    with pytest.raises(ConfigError, match=r"^bot: 'ann' has no finished deal that counts"):
        ladder.void(act(ActionKind.VOID, bot="ann"))
    assert len(ladder.actions(9)) == 1


def test_participant_is_renamed_or_deleted_everywhere(store: Store) -> None:
    """Leaderboards of old seasons, deals, games, challenges and earlier acts have the new names."""
    ladder = ladder_with_bots(store)
    deal = begun(ladder, 1, 2)
    play(ladder, deal, 10)
    made = ladder.add_challenge(challenge(bot="bob", opponents=("ann", "cem"), accepted=("ann",)))
    ladder.close_season(1, {"2-family": [line_of(ladder)]}, 30.0)
    ladder.add_action(act(ActionKind.SUSPEND, bot="ann"))
    renamed = ladder.rename(act(ActionKind.RENAME, owner="ann"), "Team 7", has_tokens=False)
    assert renamed.owner == ladder.leaderboards(1)["2-family"][0].version.owner == "Team 7"
    with pytest.raises(ConfigError, match="owner"):
        ladder.rename(act(ActionKind.RENAME, owner="ann"), "Team 8", has_tokens=False)
    deleted = ladder.rename(act(ActionKind.DELETE, owner="Team 7"), None, has_tokens=False)
    assert deleted.owner == "deleted-3"
    version = ladder.leaderboards(1)["2-family"][0].version
    assert version == ladder.versions()[1]
    assert (version.bot, version.owner, version.profile.info.author) == ("deleted-1", "deleted-3", "")
    assert [one.bots for one in ladder.games_of([deal.id])[deal.id]] == [
        ("deleted-1", "bob"),
        ("bob", "deleted-1"),
    ]
    assert ladder.deals(9, bot="deleted-1")
    known = ladder.challenge(made.id)
    assert known is not None
    assert (known.opponents, known.accepted) == (("deleted-1", "cem"), ("deleted-1",))
    assert list(ladder.suspended()) == ["deleted-1"]
    assert not ladder.versions_of("ann")


def test_rated_deals_of_a_day_are_counted_from_the_store(new_url: Callable[[], str]) -> None:
    """A server that starts again knows them; older ones and those of challenges are left out."""
    url = new_url()
    with Store.create(url) as store:
        ladder = ladder_with_bots(store)
        for versions in ((1, 2), (1, 3)):
            begun(ladder, *versions)
        begun(ladder, 1, 2, kind=challenge().kind.CHALLENGE)
    with Store.existing(url) as store:
        count = type(ladder)(store).rated_deals_begun
        assert count(20.0) == {
            "ann": {1: {"2-family": 2}},
            "bob": {2: {"2-family": 1}},
            "cem": {3: {"2-family": 1}},
        }
        assert not count(20.5)


def test_game_of_a_suspended_bot_still_counts(store: Store) -> None:
    """What was begun before the act ends as usual."""
    ladder = ladder_with_bots(store)
    deal = begun(ladder, 1, 2)
    ladder.add_action(act(ActionKind.SUSPEND, bot="ann"))
    store.add_games([(game(deal, rotation, rotation + 1, winner=1), None) for rotation in range(2)])
    assert ladder.deals(1)[0].state is DealState.FINISHED


@pytest.mark.parametrize("damage", ["at = 1e308", "deals = -1"])
def test_a_suspension_outlasts_damage(store: Store, damage: str) -> None:
    """What is left of its row says whose it is."""
    ladder = ladder_with_bots(store)
    ladder.add_action(act(ActionKind.SUSPEND, bot="bob"))
    with store.writing() as connection:
        connection.execute(text(f"UPDATE acts SET {damage}"))
    assert {bot: one.text for bot, one in ladder.suspended().items()} == {"bob": "colludes with cem"}
