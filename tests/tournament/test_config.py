"""What a tournament consists of: written and read without loss, and refused where it is impossible."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.tables import Table

from happycity import Config, ConfigError, FailurePolicy, Fallback, Mode, Scoring, TimeControl
from happycity.tournament.v1beta1 import tournament_service_pb2 as pb
from happycity_tournament import wire
from happycity_tournament.config import (
    MAX_BOTS,
    MAX_GAMES,
    Format,
    Gauntlet,
    RandomRounds,
    RoundRobin,
    SeatOrders,
    SprtTest,
    Swiss,
    TournamentConfig,
    check_bots,
)
from happycity_tournament.schedule import schedule_of

CONFIG = TournamentConfig(
    bots=("ann", "bob", "cem"),
    game=Config(players=3, mode=Mode.FAMILY, scoring=Scoring.SUM),
    format=RandomRounds(rounds=7),
    seed=2**64 - 1,
    time=TimeControl(
        connect_seconds=1.0,
        decision_seconds=0.0004,
        bank_seconds=3.0,
        increment_seconds=0.5,
        margin_seconds=0.0,
        no_clock=True,
    ),
    policy=FailurePolicy(
        max_strikes=0, grace_seconds=4.0, fallback=Fallback.RANDOM, disqualify_share=0.0, disqualify_games=10
    ),
    concurrency=5,
    begin_incomplete=True,
    hosted_bots={"ann": "0f" * 32},
    anchor="cem",
    anchor_elo=0.0,
    title="Spring cup",
)
"""A configuration in which nothing is as by default."""

FORMATS: list[Format] = [
    RandomRounds(rounds=3, seat_orders=SeatOrders.SINGLE, until_error=12.5),
    RoundRobin(cycles=3, seat_orders=SeatOrders.ALL),
    Swiss(rounds=3, seat_orders=SeatOrders.ALL),
    Gauntlet(challengers=("bob",), cycles=3, seat_orders=SeatOrders.ALL),
    SprtTest(candidate="ann", base="bob", elo0=-5, elo1=0, alpha=0.1, beta=0.2, max_blocks=7),
]


def of_format(chosen: Format) -> TournamentConfig:
    bots = ("ann", "bob") if isinstance(chosen, SprtTest) else CONFIG.bots
    return replace(CONFIG, bots=bots, format=chosen, anchor="bob")


@pytest.mark.parametrize(
    "config", [CONFIG, replace(CONFIG, seed="HappyCity-2-family-v4 a draw"), *map(of_format, FORMATS)]
)
def test_a_configuration_comes_back(config: TournamentConfig) -> None:
    assert TournamentConfig.of(json.loads(json.dumps(config.json()))) == config
    message = pb.TournamentConfig.FromString(wire.tournament_config_message(config).SerializeToString())
    assert wire.tournament_config_of(message, default_seed=0) == config


def test_absent_fields_have_their_defaults() -> None:
    """A message with the bots, the game and an empty format is a tournament; 0 is not taken for absent."""
    message = pb.TournamentConfig(bots=["ann", "bob"], round_robin=pb.RoundRobin())
    message.game.CopyFrom(wire.tournament_config_message(CONFIG).game)
    assert wire.tournament_config_of(message, default_seed=9) == TournamentConfig(
        bots=("ann", "bob"), game=CONFIG.game, format=RoundRobin(), seed=9
    )
    message.seed, message.anchor_elo = 0, 0.0
    config = wire.tournament_config_of(message, default_seed=9)
    assert (config.seed, config.anchor_elo) == (0, 0.0)
    message.sprt.CopyFrom(pb.Sprt(candidate="ann", base="bob", elo1=10))
    assert wire.tournament_config_of(message, default_seed=0).format == SprtTest(candidate="ann", base="bob")


def test_the_bots_of_a_test_may_be_left_out() -> None:
    message = wire.tournament_config_message(of_format(FORMATS[-1]))
    del message.bots[:]
    assert wire.tournament_config_of(message, default_seed=0).bots == ("ann", "bob")


def sprt(**fields: Any) -> pb.TournamentConfig:
    test = {"candidate": "ann", "base": "bob", "elo1": 10.0, **fields}
    message = wire.tournament_config_message(CONFIG)
    del message.bots[:]
    message.anchor = ""
    message.sprt.CopyFrom(pb.Sprt(**test))
    return message


REFUSED: dict[str, Callable[[pb.TournamentConfig], object]] = {
    "format: it is missing": lambda m: m.ClearField("format"),
    "rounds: 0 is not between 1 and 10000000": lambda m: m.random_rounds.ClearField("rounds"),
    "rounds: 0 is not between": lambda m: m.swiss.SetInParent(),
    "cycles: 0 is not between 1 and 10000000": lambda m: m.round_robin.MergeFrom(pb.RoundRobin(cycles=0)),
    "cycles: 0 is not between": lambda m: m.gauntlet.MergeFrom(pb.Gauntlet(cycles=0)),
    "rounds: 4294967295 is not between 1 and": lambda m: setattr(m.random_rounds, "rounds", 2**32 - 1),
    "rounds: 4294967295 is not between": lambda m: setattr(m.swiss, "rounds", 2**32 - 1),
    "cycles: 4294967295 is not between 1 and": lambda m: setattr(m.round_robin, "cycles", 2**32 - 1),
    "cycles: 4294967295 is not between": lambda m: setattr(m.gauntlet, "cycles", 2**32 - 1),
    "seat_orders: 0 is not one of 1, 2, 3": lambda m: setattr(m.random_rounds, "seat_orders", 0),
    "seat_orders: 99 is not one of 1, 2, 3": lambda m: setattr(m.random_rounds, "seat_orders", 99),
    "fallback: 0 is neither": lambda m: setattr(m.failure_policy, "fallback", 0),
    "decision": lambda m: setattr(m.time_control.decision_time, "seconds", -1),
    "mode: ": lambda m: setattr(m.game, "mode", 0),
    "scoring: ": lambda m: setattr(m.game, "scoring", 0),
    "players: 6 is not between 2 and 5": lambda m: setattr(m.game, "players", 6),
    "concurrency: 0 is not between 1 and 10000": lambda m: setattr(m, "concurrency", 0),
    "concurrency: 10001 is not between 1 and 10000": lambda m: setattr(m, "concurrency", 10_001),
    "anchor: 'zoe' is not one of the bots": lambda m: setattr(m, "anchor", "zoe"),
    "bots: 'ann' is named more than once": lambda m: m.bots.append("ann"),
    "bots: bot name '': use 1-64 of a-z": lambda m: m.bots.append(""),
    "bots: bot name 'a b': use 1-64 of a-z": lambda m: m.bots.append("a b"),
    f"bots: 5003 are more than {MAX_BOTS}": lambda m: m.bots.extend(map(str, range(5000))),
    "bots: those of a sequential test are its candidate and its base": lambda m: m.sprt.MergeFrom(
        pb.Sprt(candidate="ann", base="bob", elo1=10)
    ),
}
REFUSED_TESTS: dict[str, dict[str, Any]] = {
    "elo0: 0 is not less than elo1, 0": {"elo1": 0.0},
    "elo1: 1e+300 is not between -100000 and 100000": {"elo1": 1e300},
    "alpha: 0 is not between 0 and 1/2": {"alpha": 0.0},
    "beta: 0.5 is not between 0 and 1/2": {"beta": 0.5},
    "max_blocks: 0 is not between 1 and 10000000": {"max_blocks": 0},
    "bots: 'ann' is named more than once": {"base": "ann"},
    "bots: bot name '': use 1-64 of a-z": {"base": ""},
}
"""What is said of messages, and what is wrong with them."""


def refuse(message: pb.TournamentConfig, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        wire.tournament_config_of(message, default_seed=0)
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)


def test_messages_that_make_no_tournament_are_refused() -> None:
    """One line begins with the field, for numbers out of range, not finite or unspecified, and bad names."""
    for text, change in REFUSED.items():
        message = wire.tournament_config_message(CONFIG)
        change(message)
        refuse(message, text)
    for text, fields in REFUSED_TESTS.items():
        refuse(sprt(**fields), text)
    for number in (math.nan, math.inf, -math.inf):
        for field in ("elo0", "elo1", "alpha", "beta"):
            refuse(sprt(**{field: number}), f"{field}: ")
        message = wire.tournament_config_message(CONFIG)
        message.anchor_elo = number
        refuse(message, "anchor_elo: ")
        message = wire.tournament_config_message(CONFIG)
        message.failure_policy.disqualify_share = number
        refuse(message, "disqualify_share: ")


def test_new_tournaments_have_names_that_files_can_have() -> None:
    """Stored ones keep theirs, from versions that allowed more."""
    for bots, problem in (
        (("ann", "Ann"), "'ann' and 'Ann' differ by capitals alone"),
        (("7", "ben"), "'7'"),
    ):
        with pytest.raises(ConfigError, match=f"^bots: .*{problem}"):
            check_bots(bots)
        assert (
            TournamentConfig.of({**CONFIG.json(), "bots": bots, "anchor": bots[0], "hosted_bots": {}}).bots
            == bots
        )


def refusal(text: str) -> Iterator[str]:
    """Yield what is said of a stored configuration with these changes, or of a value that is none."""
    value = json.loads(text)
    with pytest.raises(ConfigError) as caught:
        TournamentConfig.of({**CONFIG.json(), **value} if value and isinstance(value, dict) else value)
    yield from str(caught.value).splitlines()


DAMAGES = Table(Path(__file__).with_name("configs.txt"), refusal)


def test_what_cannot_be_read_is_refused() -> None:
    """A damaged configuration, or that of a later version, is an error in one line, whatever it is."""
    DAMAGES.check(least=20)


def test_what_can_be_read_can_be_sent() -> None:
    """The largest numbers that a configuration may have fit into its message."""
    largest = replace(
        CONFIG,
        bots=tuple(f"bot-{number:060}" for number in range(MAX_BOTS)),
        format=Swiss(rounds=MAX_GAMES),
        anchor=None,
        anchor_elo=-100_000.0,
        hosted_bots={},
        concurrency=10_000,
        policy=FailurePolicy(max_strikes=10**9, disqualify_games=10**9),
    )
    message = wire.tournament_config_message(largest)
    assert wire.tournament_config_of(message, default_seed=0) == largest
    with pytest.raises(ConfigError, match="games, more than"):
        schedule_of(largest)


if __name__ == "__main__":
    DAMAGES.write()
