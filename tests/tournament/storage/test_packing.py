"""Records as the store keeps them."""

import random
import zlib

import pytest

from happycity import Config, Deal, Game, Incident, IncidentKind, Mode
from happycity.records.record import Json, Recorder, clock_json, dumps, metrics_json
from happycity_tournament.storage.packing import pack, unpack


def record(
    *,
    mode: Mode = Mode.FAMILY,
    reasons: tuple[str, ...] = (),
    text: str = "",
    metrics: tuple[float, ...] = (),
) -> Json:
    """Play a random game on a deal with the largest seed, and return its record."""
    rng, deal = random.Random(1), Deal.shuffle(Config(mode=mode), seed=2**64 - 1)
    game, recorder = Game(deal), Recorder(deal)
    while game.outcome is None:
        move = rng.choice(game.legal_moves)
        recorder.add(game, move)
        game.apply(move)
    return recorder.record(
        game,
        reasons=reasons,
        clock=clock_json(think_us=[2**62, 0], round_trip_us=[0] * 4),
        metrics=[metrics_json(number, {"value": value}) for number, value in enumerate(metrics, start=1)],
        incidents=[Incident(1, 0, IncidentKind.FORFEIT, text)] if text else (),
    )


@pytest.mark.parametrize(
    "made",
    [
        record(),
        record(mode=Mode.EXPERT),
        record(reasons=("", "", "out of memory", ""), text='bad "move" \\ / <&> \' \x7f \x01 \n'),
        record(reasons=("", "Zeitüberschreitung \u2028", "", ""), text="🃏 \xa0"),
        record(metrics=(1e16, 1e-7, -1.5e300, 0.1, 2.0**53, 5e-324, -0.0, 7.0)),
    ],
    ids=["family", "expert", "ASCII text", "other text", "numbers"],
)
def test_a_record_is_kept_as_the_line_that_record_files_have(made: Json) -> None:
    """Whether it is packed from an object or from its line, the text is the one of `dumps`, byte by byte."""
    assert unpack(pack(lambda: made)) == unpack(pack(dumps(made))) == dumps(made)
    assert pack(lambda: made) == zlib.compress(dumps(made).encode(), 3)


def test_a_compressed_record_stays_as_it_is() -> None:
    """A worker that played the game has compressed its record already."""
    packed = pack(record)
    assert pack(packed) is packed
