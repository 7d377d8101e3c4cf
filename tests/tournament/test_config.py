import json
from dataclasses import replace
from typing import Any

import pytest

from happycity import Config, ConfigError, Mode, Scoring
from happycity.terms import FailurePolicy, Fallback, TimeControl
from happycity_tournament.config import TournamentConfig
from happycity_tournament.formats import Format
from happycity_tournament.messages import tournament_config_message, tournament_config_of
from happycity_tournament.schedule import Orders, Stay, fixtures
from happycity_tournament.sprt import EloScale, SprtTerms

CONFIG = TournamentConfig(
    bots=("ann", "bob", "cem"),
    game=Config(players=3, mode=Mode.FAMILY, scoring=Scoring.SUM),
    rounds=7,
    seed=2**64 - 1,
    time=TimeControl(
        connect_seconds=1.0,
        decision_seconds=2.0,
        bank_seconds=3.0,
        increment_seconds=0.5,
        margin_seconds=0.25,
        no_clock=True,
    ),
    policy=FailurePolicy(
        max_strikes=1,
        grace_seconds=4.0,
        fallback=Fallback.RANDOM,
        disqualify_share=0.5,
        disqualify_games=10,
    ),
    concurrency=5,
)

ADDED = ("format", "cycles", "orders", "roster", "challengers", "minimum", "sprt", "anchor", "anchor_elo")

FIRST_FORM: dict[str, Any] = {
    "bots": ["ann", "bob"],
    "players": 2,
    "mode": "family",
    "scoring": "product",
    "rounds": 3,
    "seed": 9,
    "connect_seconds": 30.0,
    "decision_seconds": 2.5,
    "max_strikes": 0,
    "concurrency": 128,
}
"""What was stored before time control and failure policy were objects."""


def test_a_configuration_comes_back_from_json() -> None:
    """Everything in it is written and read, by way of text."""
    assert TournamentConfig.of(json.loads(json.dumps(CONFIG.json()))) == CONFIG


def test_the_first_form_is_understood() -> None:
    """The loose numbers of an old store find their places; all else is as it was then, by default."""
    config = TournamentConfig.of(FIRST_FORM)
    assert config.time == TimeControl(connect_seconds=30.0, decision_seconds=2.5)
    assert config.policy == FailurePolicy(max_strikes=0)
    assert (config.bots, config.rounds, config.seed, config.concurrency) == (("ann", "bob"), 3, 9, 128)
    assert config.format is Format.RANDOM_ROUNDS
    assert list(next(config.schedule().stages())) == list(
        fixtures(bots=("ann", "bob"), seats=2, rounds=3, seed=9)
    )


def test_before_there_were_formats() -> None:
    """A configuration that tells no format, nor its numbers, is one of random rounds."""
    before = {key: value for key, value in CONFIG.json().items() if key not in ADDED}
    assert TournamentConfig.of(before) == CONFIG


def test_every_format_comes_back_from_json_and_from_the_wire() -> None:
    """What a format needs is written, sent and read."""
    for kind in Format:
        config = replace(
            CONFIG,
            format=kind,
            cycles=3,
            orders=Orders.ALL,
            challengers=("bob",),
            minimum=4,
            sprt=SprtTerms(elo0=-5, elo1=5, alpha=0.1, beta=0.2, max_blocks=7, scale=EloScale.NORMALISED),
            anchor="cem",
            anchor_elo=1000.0,
        )
        assert TournamentConfig.of(json.loads(json.dumps(config.json()))) == config
        read = tournament_config_of(tournament_config_message(config), default_seed=0)
        expected = config if kind is Format.SPRT else replace(config, sprt=SprtTerms())
        assert read == expected


def test_a_roster_comes_back_from_json_and_from_the_wire() -> None:
    """Who joined late and who was withdrawn is written, sent and read; those who left are told apart."""
    roster = (Stay(bot="ann", last_round=4), Stay(bot="dee", first_round=3), Stay(bot="cem", last_round=0))
    config = replace(CONFIG, bots=(*CONFIG.bots, "dee"), roster=roster)
    assert TournamentConfig.of(json.loads(json.dumps(config.json()))) == config
    assert tournament_config_of(tournament_config_message(config), default_seed=0) == config
    assert config.remaining == ("bob", "dee")


def test_a_format_of_a_later_version_is_refused() -> None:
    """A number that this version doesn't know is no default."""
    message = tournament_config_message(CONFIG)
    message.format = 99  # type: ignore[assignment]  # as a newer client may send it
    with pytest.raises(ConfigError, match="format: 99 is unknown"):
        tournament_config_of(message, default_seed=0)


def test_no_limit_in_the_first_form_means_no_clock() -> None:
    """A decision time of 0 was how a tournament without clocks was written."""
    assert TournamentConfig.of({**FIRST_FORM, "decision_seconds": 0}).time.no_clock


@pytest.mark.parametrize(
    "change",
    [{"players": 9}, {"mode": "solo"}, {"format": "knockout"}, {"time": {"days": 3}}, {"policy": {}}],
)
def test_what_cannot_be_read_is_named(change: dict[str, Any]) -> None:
    """A configuration of a later version, or a damaged one, is one error in one line."""
    with pytest.raises(ConfigError) as caught:
        TournamentConfig.of({**FIRST_FORM, **change})
    assert "\n" not in str(caught.value)
