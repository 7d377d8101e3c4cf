"""What the services show of deals that may be played again."""

from pathlib import Path

import pytest
from tests.server import harness as h
from tests.server.api.tournaments import config as tournament_config

from happycity_runtime.tokens import Role

ROLES = {"ann": Role.BOT, "eve": Role.OBSERVER, "olga": Role.ORGANISER}


def tokens_in(path: Path) -> dict[str, h.Metadata]:
    """Create a token of each role; return what a call shows of it, by name."""
    return {name: h.bearer(h.issued_token(path, role, name)) for name, role in ROLES.items()}


@pytest.mark.level(2)
async def test_nobody_gets_the_record_of_a_deal_that_a_match_repeats(tmp_path: Path) -> None:
    """The bot that plays it would know the order of the cards, whoever's token its author has."""
    path = tmp_path / "tokens.json"
    callers = tokens_in(path)
    ann, olga = callers["ann"], callers["olga"]
    async with h.serving(tmp_path, tokens=path, house="random") as (_, channel):
        matches = h.matches_at(channel)
        over = (await matches.CreateMatch(olga, **h.terms("random", "random", seed=7))).match_id
        await h.ended_match(matches, over, olga)
        assert (await matches.GetMatchRecord(ann, match_id=over)).json
        await matches.CreateMatch(olga, **h.terms("random", "ann", seed=7))
        for caller in callers.values():
            for call in (
                matches.GetMatchRecord,
                lambda *by, **match: matches.WatchMatch(*by, **match).read(),
            ):
                assert (await h.outcome_of(call(caller, match_id=over))).reason == "MATCH_RUNNING"
            shown = await matches.GetMatch(caller, match_id=over)
            assert (shown.outcome.HasField("result"), shown.watchable) == (True, False)


@pytest.mark.parametrize(("field", "seed", "hidden"), [("seed", 4711, 0), ("seed_name", "A secret", "")])
async def test_the_seed_of_a_stopped_tournament_is_its_organisers(
    field: str, seed: int | str, hidden: int | str, tmp_path: Path
) -> None:
    """It can be resumed, and its deals follow from the seed: no answer to another caller has it."""
    path = tmp_path / "tokens.json"
    callers = tokens_in(path)
    async with h.serving(tmp_path, tokens=path, public=True) as (_, channel):
        tournaments = h.tournaments_at(channel)
        config = tournament_config("ann", "ben", rounds=1)
        config.ClearField("seed")
        setattr(config, field, seed)
        created = await tournaments.CreateTournament(callers["olga"], config=config)
        number = {"tournament_id": created.tournament_id}
        await tournaments.StopTournament(callers["olga"], **number)
        for name, metadata in {**callers, "": ()}.items():
            (listed,) = (await tournaments.ListTournaments(metadata)).tournaments
            answers = [
                listed,
                await tournaments.GetTournament(metadata, **number),
                [update async for update in tournaments.WatchTournament(metadata, **number)][-1].tournament,
            ]
            shown = [getattr(answer.config, field) for answer in answers]
            assert shown == [seed if name == "olga" else hidden] * 3, name
