"""Benchmarks: protocols that never change, results that are the same everywhere, and what forgers meet."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.bots.matches import play
from tests.tournament.servers import arena

from happycity import ConfigError, Game, Move
from happycity_bots import PlannerBot
from happycity_client import Decision
from happycity_tournament.lineup import BotEntry
from happycity_tournament.proof.benchmark import (
    BENCHMARK_FILE,
    DEALS,
    PROTOCOLS,
    verify_benchmark,
    write_benchmark,
)
from happycity_tournament.proof.commitment import canonical, digest_of
from happycity_tournament.proof.publication import VerificationError
from happycity_tournament.storage.sources import StoreSource

PROTOCOL = PROTOCOLS["HappyCity-3-family-v1"]
PLANNER = BotEntry(name="mine", builtin="planner")
CHAIN = "f6f99055c4e16aaf17f84fd0e966e574b9bc3aaeb92b44b924393270cea1bc9d"
"""What the planner plays on the first four deals of `PROTOCOL`, on every machine."""
DIGESTS = {
    "HappyCity-2-family-v1": "7b1f70807fd5d23bc36a889d749c51cd64df31d87bde55eb088a58d3e0baa1ee",
    "HappyCity-3-family-v1": "02156d1cf54a9d1e91b2f7078b196902556bc52e81c66a65ca10c628475b8529",
    "HappyCity-4-family-v1": "126d20188170f64966454799508014c5093f9dad2ee7835a3c174a6389da54d8",
    "HappyCity-5-family-v1": "8ea62bfa148292ccb8ec5ddeb38964be23b401e17fb2154307f1f66081ff8310",
    "HappyCity-2-expert-v1": "ac9c609c6c23fb8bb340698b27244ca46cdfa65f3e8c4c02197b82e41e095dc9",
    "HappyCity-3-expert-v1": "d39790ad811ba8e13b8b5a247c9c2ff2cb2134f30ba349505cea773873bc4c07",
    "HappyCity-4-expert-v1": "e411a514d13bd6aef23376435e95c54544a449d123e468e7c5730836fc5d05df",
    "HappyCity-5-expert-v1": "8f17f241c2010c29ff53646bf78f14ef4ce43320d03c4cbc7d5d740f184686de",
    "HappyCity-2-family-lite-v1": "520bfda2223f12a445b82ae5d0f2a409363fbc45d44a778f5b5992633972570f",
    "HappyCity-3-family-lite-v1": "49dd5d6067553a5ec9d31e4b2ba4ed4320da172c1b312a3584ac05b351040170",
    "HappyCity-4-family-lite-v1": "26477c082bb32fd1c6ebfacd007c9d854271a9b715a30260aff2ab430d703080",
    "HappyCity-5-family-lite-v1": "10d82bafa9518a485715c90d0eb0f9c8fd451384898ad1ea63ce0f35d38249bb",
    "HappyCity-2-expert-lite-v1": "b3ae4387ac44cdafb87150bc201018183046e808f388ab779766ee19c06b472c",
    "HappyCity-3-expert-lite-v1": "000b6059b395db37266c6a9c3c62d09be5148d11772c6aa0046f40328fec9e6c",
    "HappyCity-4-expert-lite-v1": "563a7068e09ee25ee8eebc991f6b8d267da4f22d5e165ae7c8a6c8bc2444863d",
    "HappyCity-5-expert-lite-v1": "ba21ac98cfea118deb614d7671dabce42f163d2657b469a5135fd231712bb251",
}
"""Papers quote these: a change that alters one needs a protocol with another name instead."""


def test_protocols_never_change() -> None:
    assert {name: protocol.digest for name, protocol in PROTOCOLS.items()} == DIGESTS


@pytest.mark.level(1)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.level(2) if "expert" in name else ())
        for name, protocol in PROTOCOLS.items()
        if protocol.deals == DEALS
    ],
)
def test_opponents_play_as_ever(name: str) -> None:
    config, played = PROTOCOLS[name].config().game, []
    for seed in range(10):
        game = Game.deal(config, seed=seed)
        played.append([str(move) for _, move in play(game, [PlannerBot] * config.players)])
    assert digest_of(played).startswith(PROTOCOLS[name].opponent_play)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Play the planner against itself on four deals."""
    folder = tmp_path_factory.mktemp("store")
    with arena(folder, dict.fromkeys(PROTOCOL.bots, "planner")) as opened:
        opened.play(PROTOCOL.config(4))
    return f"sqlite:///{folder / 'games.sqlite'}"


@pytest.fixture
def written(store: str, tmp_path: Path) -> Path:
    source = StoreSource(store, tournament=1)
    cost = {"cpu_seconds": 2.0}
    write_benchmark(source, PROTOCOL, tmp_path, bot=PLANNER, deals=4, cost=cost, processes=1)
    source.close()
    return tmp_path


@pytest.mark.level(1)
def test_the_planner_is_as_strong_as_itself(written: Path) -> None:
    result = verify_benchmark(written, asked=12, processes=1)
    assert result["chain"] == CHAIN
    assert (result["elo"], result["score"]["value"]) == ({"margin": 0.0, "value": 0.0}, 0.5)
    assert result["points"] == result["opponents_points"]
    assert (result["games"], sum(result["places"]), result["complete"]) == (12, 12, False)
    assert (result["cost"]["cpu_seconds"], result["cost"]["notes"]) == (2.0, {})


def test_a_bot_that_is_not_the_one_that_played_is_found(written: Path) -> None:
    source = json.loads((written / BENCHMARK_FILE).read_bytes())
    source["bot"]["builtin"] = "greedy"
    save(written, source)
    verify_benchmark(written, asked=0, processes=1)
    with pytest.raises(VerificationError, match=r"round 1, table 1, rotation 1: move \d+: greedy plays"):
        verify_benchmark(written, asked=12, processes=1)


def save(folder: Path, result: dict[str, Any]) -> None:
    """Write a result with the hash that belongs to it."""
    result["hash"] = digest_of({key: result[key] for key in result if key not in ("cost", "hash")})
    (folder / BENCHMARK_FILE).write_bytes(canonical(result) + b"\n")


FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a better Elo": (lambda r: r["elo"].update(value=100.0), "elo: it is not what the games give"),
    "a better place": (lambda r: r["places"].append(0), "places: it is not"),
    "a whole result": (lambda r: r.update(complete=True), "complete: it is not"),
    "fewer deals": (lambda r: r.update(deals=3), "round 4, table 1, rotation 1 was added"),
    "a lite one": (lambda r: r.update(protocol="HappyCity-3-family-lite-v1", deals=11), "deals: malformed"),
    "more deals": (lambda r: r.update(deals=5), "round 5, table 1, rotation 1 is missing"),
    "no deals": (lambda r: r.update(deals=0), "bot, deals: malformed"),
    "another protocol": (lambda r: r.update(protocol="HappyCity-4-family-v1"), "rotation 1: its deal, bots"),
    "no bot": (lambda r: r.update(bot=None), "bot, deals: malformed"),
    "other rules": (lambda r: r.update(rules=2), "rules: it is not"),
    "one key more": (lambda r: r.update(winner="mine"), "hash: it is not"),
    "no chain": (lambda r: r.pop("chain"), "chain: it is not"),
}


@pytest.mark.parametrize(("forge", "line"), FORGERIES.values(), ids=FORGERIES)
def test_forgeries_are_found(written: Path, forge: Callable[[dict[str, Any]], object], line: str) -> None:
    result = json.loads((written / BENCHMARK_FILE).read_bytes())
    forge(result)
    save(written, result)
    with pytest.raises(VerificationError, match=line):
        verify_benchmark(written, asked=0, processes=1)


def test_costs_are_not_in_the_hash(written: Path) -> None:
    path = written / BENCHMARK_FILE
    result = json.loads(path.read_bytes())
    result["cost"]["money"] = "3 USD"
    path.write_bytes(canonical(result) + b"\n")
    assert verify_benchmark(written, asked=0, processes=1)["hash"] == result["hash"]
    path.write_bytes(canonical({**result, "protocol": "HappyCity-9"}) + b"\n")
    with pytest.raises(ConfigError, match="there is no 'HappyCity-9'; did you mean HappyCity-"):
        verify_benchmark(written, asked=0, processes=1)


@pytest.mark.level(1)
def test_games_that_an_opponent_forfeited_are_refused(tmp_path: Path) -> None:
    class Failing(PlannerBot):
        def choose(self, decision: Decision) -> Move:
            raise OSError

    with arena(tmp_path, dict.fromkeys(PROTOCOL.bots, "planner")) as opened:
        opened.connect("planner-2", Failing)
        opened.play(PROTOCOL.config(1))
        source = StoreSource(opened.url, tournament=1)
        with pytest.raises(VerificationError, match="round 1: planner-2 forfeited"):
            write_benchmark(source, PROTOCOL, tmp_path, bot=PLANNER, deals=1, cost={}, processes=1)
        source.close()


def test_games_of_another_tournament_are_refused(store: str, tmp_path: Path) -> None:
    source = StoreSource(store, tournament=1)
    expert = replace(PROTOCOL, mode=PROTOCOLS["HappyCity-3-expert-v1"].mode)
    with pytest.raises(VerificationError, match="its deal, bots, seeds or kind"):
        write_benchmark(source, expert, tmp_path, bot=PLANNER, deals=4, cost={}, processes=1)
    source.close()
