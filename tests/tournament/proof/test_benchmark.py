"""Benchmarks: protocols that never change, results that are the same everywhere, and what forgers meet."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.bots.matches import play
from tests.tournament.proof.forged_games import blame, replayed_by
from tests.tournament.servers import arena

from happycity import Config, ConfigError, Game, Mode
from happycity_bots import BOTS
from happycity_bots.learner import learners_network
from happycity_evaluation.turn_strengths import champions_network
from happycity_tournament.config import MAX_GAMES, RandomRounds, TournamentConfig
from happycity_tournament.lineup import BotEntry
from happycity_tournament.proof.benchmark import (
    BENCHMARK_FILE,
    CANDIDATE,
    COLUMN_DEALS,
    POOL,
    PROTOCOLS,
    verify_benchmark,
    write_benchmark,
)
from happycity_tournament.proof.commitment import canonical, digest_of
from happycity_tournament.proof.publication import GAMES_FILE, VerificationError, write_lines
from happycity_tournament.schedule import schedule_of
from happycity_tournament.storage.sources import StoreSource

PROTOCOL = PROTOCOLS["HappyCity-2-family-v4"]
DEALS = 5
PLANNER = BotEntry(name="mine", builtin="planner")
CHAIN = "e91725e6608afd31a69c71952f709f2e75261c07d924bc426be945ab4a268dbe"
"""What the planner plays on the first five deals of `PROTOCOL`, on every machine."""
DIGESTS = {
    "HappyCity-2-family-v4": "de2bbe9c81f30448136cac68cd8fa2625987687d124ec6a5ad350d11b353073f",
    "HappyCity-2-family-lite-v4": "0533b5c490adb1826fc5deece5957de19eb455be30fd8021701b73ec02ff0197",
    "HappyCity-3-family-v4": "1074b41d69a605a06434313d818c271c54e804b6a8b800ecc07a02eb908518fe",
    "HappyCity-3-family-lite-v4": "2301524dbbccfd9f185e36f237b1ef966475fdeef97b06352bf391b2658b581a",
    "HappyCity-4-family-v4": "652c7335b13cf2bb0d0e4affd8ed657ff268523c2612905002012788ef90b494",
    "HappyCity-4-family-lite-v4": "f3ae3ae4ba4bbf5fa75c0f951cd938a9901a329b16fdd1e74fb5bdbf8ce47978",
    "HappyCity-5-family-v4": "af4cbf2eef2b9313a1c4a5b6a69df6be2b87d48b7302aa3cd6df4e584cc10bfa",
    "HappyCity-5-family-lite-v4": "603ba764c570d54d33afc06359568654c0848325ebe0bdade7dd5abf9d4dac85",
    "HappyCity-2-expert-v4": "f0241d96194baa7f3ecff07fc7c666b33fd566bb4773ea78b58edd6613523e1a",
    "HappyCity-2-expert-lite-v4": "a48c58b39ba24b63a90ff395cc4a44303769fdddd2bb54a1647435279fb6507c",
    "HappyCity-3-expert-v4": "a7d62ab7ff10df5e2196c9b6ee2f518a5686d2aca5bd9ddc8f1efa039fa38202",
    "HappyCity-3-expert-lite-v4": "a32e3d61745281fef290c2d4e1dcaab456b06b25cceb73600d85ea9a093c80c9",
    "HappyCity-4-expert-v4": "8bbd3ee13bc7f6a09fe93aaaa0f6628f8b663260a245155f96643c6cf67ee9f9",
    "HappyCity-4-expert-lite-v4": "59a8c27e44ee89efad4cdea4e1b4c27f75711898278b4abbdc25b561622cf944",
    "HappyCity-5-expert-v4": "97a96fb6d84fd34e1fc72d1799c0741a39394c63ea278904d4acadd9f0492187",
    "HappyCity-5-expert-lite-v4": "2401b11911bb00bde39f5e9c09bc965e92336719cd6e63ff17e45cf2b5910097",
}
"""Papers quote these: a change that alters one needs a protocol with another name instead."""


def test_protocols_never_change() -> None:
    assert {name: protocol.digest for name, protocol in PROTOCOLS.items()} == DIGESTS


def test_networks_of_the_pool_never_change() -> None:
    """Weights of other bots belong into other files, as games may not show a change of these."""
    assert champions_network().digest.startswith("33ccb3b3393cb3bd")
    assert learners_network().digest.startswith("682a01d632d565dc")


@pytest.mark.level(2)
@pytest.mark.parametrize(
    "name", [name for name, protocol in PROTOCOLS.items() if protocol.column_deals == COLUMN_DEALS]
)
def test_the_pool_plays_as_ever(name: str) -> None:
    config, played = PROTOCOLS[name].config().game, []
    for seed in range(len(POOL)):
        bots = [BOTS[POOL[(seed + seat) % len(POOL)]] for seat in range(config.players)]
        played.append([str(move) for _, move in play(Game.deal(config, seed=seed), bots)])
    assert digest_of(played).startswith(PROTOCOLS[name].pool_play)


def deals_of(config: TournamentConfig) -> set[int]:
    return {fixture.deal_seed for stage in schedule_of(config).stages() for fixture in stage}


def test_deals_of_protocols_are_in_no_other_list() -> None:
    """Neither in that of the data set of the docs, nor of another protocol or beacon."""
    lists = {name: deals_of(protocol.config()) for name, protocol in PROTOCOLS.items()}
    lists["beacon"] = deals_of(PROTOCOL.config(beacon="a draw"))
    for name, protocol in PROTOCOLS.items():
        assert len(lists[name]) == protocol.deals
    four = TournamentConfig(
        bots=("greedy", "planner", "rollout", "champion"), game=Config(players=4), seed=1,
        format=RandomRounds(rounds=2500),
    )  # fmt: skip
    lists["data set"] = deals_of(four)
    assert len(lists["data set"]) == 2500
    for one, other in combinations(lists, 2):
        assert lists[one].isdisjoint(lists[other]), (one, other)


@pytest.mark.parametrize("name", ["1", "", "12 1 0", "é", "HappyCity\n", "H" * 401])
def test_no_number_is_a_name_of_deals(name: str) -> None:
    """As a deal's seed is the hash of a text with the tournament's in it, names and numbers must differ."""
    with pytest.raises(ConfigError, match="seed: "):
        replace(PROTOCOL.config(), seed=name)


def test_every_opponent_is_met_on_as_many_deals() -> None:
    for protocol in PROTOCOLS.values():
        met = dict.fromkeys(POOL, 0)
        for stage in schedule_of(protocol.config()).stages():
            for fixture in stage:
                for bot in set(fixture.bots) - {CANDIDATE}:
                    met[bot] += 1
        assert set(met.values()) == {protocol.column_deals * protocol.players}
    assert PROTOCOL.deals_for(1) == 5
    assert PROTOCOL.deals_for(11) == 10
    assert PROTOCOL.deals_for(MAX_GAMES) == PROTOCOL.deals


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Play the planner against the pool on the first deals."""
    folder = tmp_path_factory.mktemp("store")
    with arena(folder, {CANDIDATE: "planner", **dict(zip(POOL, POOL, strict=True))}) as opened:
        opened.play(PROTOCOL.config(DEALS))
    return f"sqlite:///{folder / 'games.sqlite'}"


@pytest.fixture
def written(store: str, tmp_path: Path) -> Path:
    source = StoreSource(store, tournament=1)
    cost = {"cpu_seconds": 2.0, "money": None}
    write_benchmark(source, PROTOCOL, tmp_path, bot=PLANNER, deals=DEALS, cost=cost, processes=1)
    source.close()
    return tmp_path


@pytest.mark.level(2)
def test_the_planner_is_as_strong_as_itself(written: Path) -> None:
    result = verify_benchmark(written, asked=10, processes=1)
    assert result["chain"] == CHAIN
    assert result["columns"]["planner"]["elo"] == {"margin": None, "value": 0.0}
    assert result["columns"]["planner"]["score"]["value"] == 0.5
    assert result["score"]["margin"] > 0, "by a fixed number of deals, where five are enough"
    assert sum(column["score"]["value"] for column in result["columns"].values()) / len(POOL) == (
        pytest.approx(result["score"]["value"])
    )
    assert result["columns"][result["worst"]]["score"]["value"] == min(
        column["score"]["value"] for column in result["columns"].values()
    )
    assert (result["games"], sum(result["places"]), result["complete"]) == (10, 10, False)
    assert (result["column_deals"], result["beacon"]) == (1, None)
    assert (result["stated"]["cpu_seconds"], result["stated"]["notes"]) == (2.0, {})


class Forger:
    """Changes games and results, and makes all hashes and numbers again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.result: dict[str, Any] = json.loads((folder / BENCHMARK_FILE).read_bytes())
        packed = (folder / GAMES_FILE).read_bytes()
        self.games: list[Any] = list(map(json.loads, gzip.decompress(packed).splitlines()))

    def records(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield each record with the seat of the opponent."""
        for game in self.games:
            yield game["record"], 1 - game["record"]["bots"].index(CANDIDATE)

    def let_opponents_play_at_random(self, games: slice = slice(None)) -> None:
        """Play games again, the opponents at random, and count them."""
        for game in self.games[games]:
            bots = dict.fromkeys(POOL, "random") | {CANDIDATE: "planner"}
            game["record"] = replayed_by(game["record"], bots, game["bot_seeds"])
        self.count()

    def count(self) -> None:
        """Compute the result of the games as its author would."""
        from happycity_tournament.proof import benchmark  # noqa: PLC0415

        self.save_games()
        self.result = benchmark._recompute(self.result, self.folder, 1)

    def save_games(self) -> None:
        write_lines(self.folder / GAMES_FILE, (canonical(game) + b"\n" for game in self.games))

    def save(self) -> None:
        """Write all, the result with the hash that belongs to it."""
        self.save_games()
        hashed = {key: self.result[key] for key in self.result if key not in ("stated", "hash")}
        self.result["hash"] = digest_of(hashed)
        (self.folder / BENCHMARK_FILE).write_bytes(canonical(self.result) + b"\n")


def invent_incidents(forger: Forger) -> None:
    """Let opponents play at random, each with an answer that came too late."""
    forger.let_opponents_play_at_random()
    for record, seat in forger.records():
        own = [number for number, move in enumerate(record["moves"], 1) if move["seat"] == seat]
        blame(record, seat, own[3])


def forfeit(forger: Forger) -> None:
    """Let an opponent crash at its second decision."""
    record, seat = next(forger.records())
    blame(record, seat, 4, kind="forfeit")
    record["endings"][seat] = "forfeit:crashed"


def excuse_the_candidate(forger: Forger) -> None:
    """State that a move of the candidate, which the planner wouldn't play, was played for it."""
    record, seat = next(forger.records())
    moves = record["moves"]
    own = next(
        number
        for number, move in enumerate(moves, 1)
        if move["seat"] != seat and move["move"].startswith("build")
    )
    blame(record, 1 - seat, own, kind="illegal_answer")


FORGED_GAMES: dict[str, tuple[Callable[[Forger], object], str]] = {
    "incidents are invented": (invent_incidents, "decision .*: timeout: .* of the benchmark"),
    "an incident is invented": (
        lambda f: blame(f.games[3]["record"], 1 - f.games[3]["record"]["bots"].index(CANDIDATE), 5),
        "rotation .: incidents: decision 5, .*: timeout: ",
    ),
    "an opponent forfeits": (forfeit, "decision 4, .*: forfeit: .* of the benchmark"),
    "an opponent resigned": (
        lambda f: f.games[0]["record"]["endings"].__setitem__(next(f.records())[1], "forfeit:resigned"),
        "endings: .*: resigned, which the incidents contradict",
    ),
    "the candidate is excused": (excuse_the_candidate, "move .*: the fallback plays coin, not build"),
    "the candidate was late": (
        lambda f: blame(f.games[0]["record"], 1 - next(f.records())[1], 1),
        "timeout: there was no clock",
    ),
    "seats are swapped": (lambda f: f.games[0]["record"]["bots"].reverse(), "its deal, bots, seeds or kind"),
    "an opponent has another name": (
        lambda f: f.games[0]["record"]["bots"].__setitem__(next(f.records())[1], "weak"),
        "its deal, bots, seeds or kind",
    ),
    "a game is dropped": (lambda f: f.games.pop(4), "round 1, table 3, rotation 1 is missing"),
    "a game is repeated": (
        lambda f: f.games.__setitem__(4, f.games[5]),
        "round 1, table 3, rotation 1 is missing; round 1, table 3, rotation 2 is in its place",
    ),
    "a better game is in the place of one": (
        lambda f: f.games[4].update(record=f.games[9]["record"]),
        "table 3, rotation 1: its deal, bots, seeds",
    ),
    "a game was added": (
        lambda f: f.games.append({**f.games[0], "position": [2, 0, 0]}),
        "round 2, table 1, rotation 1 was added",
    ),
    "a deal is another": (
        lambda f: f.games[0]["record"]["deal"].update(seed=1),
        "the cards are not those of the deal's seed",
    ),
    "cards are exchanged": (lambda f: f.games[0]["record"]["deal"]["decks"][2].reverse(), "rotation 1: "),
    "seeds are others": (lambda f: f.games[0].update(bot_seeds=[1, 2]), "its deal, bots, seeds or kind"),
    "times are stated": (
        lambda f: f.games[0]["record"].update(
            clock={"think_us": [1] * len(f.games[0]["record"]["moves"]), "round_trip_us": [1, 1]}
        ),
        "clock: games of a benchmark are without it",
    ),
    "notes are stated": (lambda f: f.games[0]["record"].update(metrics=[]), "metrics: games of a benchmark"),
    "points are others": (
        lambda f: f.games[0]["record"]["outcome"]["points"].reverse(),
        "rotation 1: outcome",
    ),
    "a move is left out": (lambda f: f.games[0]["record"]["moves"].pop(), "rotation 1: "),
    "a better Elo": (lambda f: f.result["elo"].update(value=100.0), "elo: it is not what the games give"),
    "a better place": (lambda f: f.result["places"].append(0), "places: it is not"),
    "a better column": (lambda f: f.result["columns"]["champion"]["score"].update(value=1.0), "columns: it"),
    "another worst column": (lambda f: f.result.update(worst="random"), "worst: it is not"),
    "a column is left out": (lambda f: f.result["columns"].pop("champion"), "columns: it is not"),
    "a whole result": (lambda f: f.result.update(complete=True), "complete: it is not"),
    "more deals a column": (lambda f: f.result.update(column_deals=120), "column_deals: it is not"),
    "some deals": (lambda f: f.result.update(deals=3), "deals, beacon: malformed"),
    "more deals": (lambda f: f.result.update(deals=10), "round 2, table 1, rotation 1 is missing"),
    "all deals and more": (lambda f: f.result.update(deals=605), "deals, beacon: malformed"),
    "no deals": (lambda f: f.result.update(deals=0), "deals, beacon: malformed"),
    "a beacon": (lambda f: f.result.update(beacon="a draw"), "its deal, bots, seeds or kind"),
    "a malformed beacon": (lambda f: f.result.update(beacon="\n"), "beacon: '.n' is not 1 to 256"),
    "a lite one": (lambda f: f.result.update(protocol="HappyCity-2-family-lite-v4"), "its deal, bots, seeds"),
    "another table": (lambda f: f.result.update(protocol="HappyCity-4-family-v4"), "its deal, bots, seeds"),
    "another mode": (lambda f: f.result.update(protocol="HappyCity-2-expert-v4"), "its deal, bots, seeds"),
    "no bot": (lambda f: f.result.update(bot=None), "bot, deals, beacon: malformed"),
    "other rules": (lambda f: f.result.update(rules=2), "rules: it is not"),
    "another pool": (lambda f: f.result.update(protocol_digest="0" * 64), "protocol_digest: it is not"),
    "one key more": (lambda f: f.result.update(winner="mine"), "hash: it is not"),
    "no chain": (lambda f: f.result.pop("chain"), "chain: it is not"),
}


@pytest.mark.level(1)
@pytest.mark.parametrize(("forge", "line"), FORGED_GAMES.values(), ids=FORGED_GAMES)
def test_forgeries_are_found(written: Path, forge: Callable[[Forger], object], line: str) -> None:
    """Without asking a bot: the games and the result contradict the rules, the protocol or each other."""
    forger = Forger(written)
    forge(forger)
    forger.save()
    with pytest.raises(VerificationError, match=line) as found:
        verify_benchmark(written, asked=0, processes=1)
    assert "\n" not in str(found.value)


@pytest.mark.level(2)
def test_moves_that_opponents_do_not_choose_are_found_wherever_they_are(written: Path) -> None:
    """Half of the games are forged, those which a fixed choice of games would not ask about."""
    forger = Forger(written)
    before = forger.result["score"]["value"]
    forger.let_opponents_play_at_random(slice(1, None, 2))
    forger.save()
    assert verify_benchmark(written, asked=0, processes=1)["score"]["value"] > before + 0.1
    with pytest.raises(VerificationError, match=r"move \d+: .* plays .*, not "):
        verify_benchmark(written, asked=10, processes=1)
    missed = 0
    for seed in range(8):
        try:
            verify_benchmark(written, asked=1, processes=1, rng=Random(seed))
            missed += 1
        except VerificationError:
            pass
    assert 0 < missed < 8  # each verification draws games of its own; it misses one of two


@pytest.mark.level(2)
def test_a_bot_that_is_not_the_one_that_played_is_found(written: Path) -> None:
    forger = Forger(written)
    forger.result["bot"]["builtin"] = "greedy"
    forger.save()
    verify_benchmark(written, asked=0, processes=1)
    with pytest.raises(VerificationError, match=r"round 1, table 1, rotation 1: move \d+: greedy plays"):
        verify_benchmark(written, asked=10, processes=1)


def test_what_the_one_who_ran_it_states_is_not_in_the_hash(written: Path) -> None:
    path = written / BENCHMARK_FILE
    result = json.loads(path.read_bytes())
    result["stated"]["money"] = "3 USD"
    path.write_bytes(canonical(result) + b"\n")
    assert verify_benchmark(written, asked=0, processes=1)["hash"] == result["hash"]
    path.write_bytes(canonical({**result, "protocol": "HappyCity-9"}) + b"\n")
    with pytest.raises(ConfigError, match="there is no 'HappyCity-9'; did you mean HappyCity-"):
        verify_benchmark(written, asked=0, processes=1)


@pytest.mark.level(2)
def test_a_beacon_gives_other_deals_which_are_verified(tmp_path: Path) -> None:
    """Who noted the beacon sees that the deals were drawn after it."""
    with arena(tmp_path, dict.fromkeys((CANDIDATE, *POOL), "greedy")) as opened:
        opened.play(PROTOCOL.config(DEALS, beacon="drand 7"))
        source = StoreSource(opened.url, tournament=1)
        write_benchmark(
            source, PROTOCOL, tmp_path, bot=PLANNER, deals=DEALS, cost={}, processes=1, beacon="drand 7"
        )
        source.close()
    assert verify_benchmark(tmp_path, asked=0, processes=1, beacon="drand 7")["beacon"] == "drand 7"
    with pytest.raises(VerificationError, match="--beacon: the deals follow from 'drand 7'"):
        verify_benchmark(tmp_path, asked=0, processes=1, beacon="drand 8")
    with pytest.raises(VerificationError, match=r"move \d+: \w+ plays"):  # it was greedy for all
        verify_benchmark(tmp_path, asked=10, processes=1)
    for beacon in ("", "é", "a" * 257):
        with pytest.raises(ConfigError, match="beacon: "):
            PROTOCOL.config(beacon=beacon)


def test_games_of_another_tournament_are_refused(store: str, tmp_path: Path) -> None:
    source = StoreSource(store, tournament=1)
    expert = replace(PROTOCOL, mode=Mode.EXPERT)
    with pytest.raises(VerificationError, match="its deal, bots, seeds or kind"):
        write_benchmark(source, expert, tmp_path, bot=PLANNER, deals=DEALS, cost={}, processes=1)
    source.close()
