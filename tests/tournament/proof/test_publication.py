"""Published tournaments are recomputed, and every kind of tampering is named in one line."""

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import closing, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Self

import pytest
from google.protobuf.json_format import MessageToJson
from tests.server.hosting.conftest import FIRST, why_not
from tests.tournament.conftest import Run
from tests.tournament.proof.forged_games import blame, replayed_by

from happycity import Config, ConfigError
from happycity.hosting.v1beta1 import hosting_service_pb2 as pb
from happycity_tournament.config import RandomRounds, TournamentConfig
from happycity_tournament.hosted.submissions import HostedBot, Submissions
from happycity_tournament.lineup import BotEntry, Lineup
from happycity_tournament.proof.commitment import Commitment, canonical, programs_of
from happycity_tournament.proof.publication import GAMES_FILE, VerificationError, write_lines
from happycity_tournament.proof.tournament_proof import RESULT_FILE, TOURNAMENTS, publish, verify
from happycity_tournament.storage.sources import StoreSource

BOTS = ("random", "greedy", "planner", "random2")
CONFIG = TournamentConfig(bots=BOTS, game=Config(players=4), format=RandomRounds(rounds=12), seed=3)
SALT = "a salt of the test"
COMMITMENT = Commitment.to(
    CONFIG, salt=SALT, programs=programs_of(Lineup(bots=(BotEntry(name="planner", builtin="planner"),)))
)
ACTS = [
    {
        "id": 3,
        "at": 5.0,
        "organiser": "olga",
        "kind": "suspend",
        "bot": "greedy",
        "text": "a copy",
        "deals": 0,
    },
    {"id": 7, "at": 6.0, "organiser": "olga", "kind": "restore", "bot": "greedy", "text": "no", "deals": 0},
]


@pytest.fixture(scope="module")
def published(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published") / "cup"
    source = StoreSource(f"sqlite:///{played}", tournament=1)
    publish(source, COMMITMENT, folder, processes=1, acts=ACTS)
    source.close()
    return folder


class Forger:
    """Changes a copy of a published tournament, and makes all hashes again that need no replay."""

    def __init__(self, folder: Path, file: str = RESULT_FILE) -> None:
        self.folder, self.file = folder, folder / file
        self.result: dict[str, Any] = json.loads(self.file.read_bytes())
        self.games: list[Any] = list(
            map(json.loads, gzip.decompress((folder / GAMES_FILE).read_bytes()).splitlines())
        )

    def commit(self, **changes: Any) -> None:
        """Commit to something else, long after the games."""
        self.result |= replace(Commitment.of(self.result), **changes).json()
        self.save()

    def host(self, bot: str, command: str) -> Path:
        """Commit to a submission as the program of a bot, and return the file with it."""
        copies = Submissions(self.folder.with_name("copies"))
        with closing(copies.upload(HostedBot(name=bot, command=command))) as upload:
            upload.take(pb.SubmissionPart(file=pb.HostedFile(path="first.py")))
            upload.take(pb.SubmissionPart(content=FIRST.read_bytes()))
            digest = copies.keep(upload, "", datetime.now(UTC)).digest
        hosted = replace(CONFIG, hosted_bots={bot: digest})
        self.commit(config={key: value for key, value in hosted.json().items() if key != "seed"})
        lines = (
            f"{MessageToJson(part, indent=None)}\n".encode() for part in copies.parts(next(iter(copies)))
        )
        write_lines(self.folder / f"{digest}.jsonl.gz", lines)
        return self.folder / f"{digest}.jsonl.gz"

    def found(self, forge: Callable[[Self], object], verify: Callable[..., object] = verify) -> str:
        """Change something, and return the line that says so."""
        forge(self)
        self.save()
        with pytest.raises(VerificationError) as found:
            verify(self.folder, processes=1)
        assert "\n" not in str(found.value)
        return str(found.value)

    def count(self) -> None:
        """Compute chain, ratings and table as the organiser would."""
        self.save()
        self.result = TOURNAMENTS.recompute(self.result, self.folder, 1)
        self.save_result()

    def save(self) -> None:
        lines = [canonical(game) + b"\n" for game in self.games]
        packed = gzip.compress(b"".join(lines), mtime=0)
        (self.folder / GAMES_FILE).write_bytes(packed)
        chain = self.result["hash"]
        acts = self.result["acts"]
        others = {name: self.result[name] for name in ("seasons", "versions", "acts") if name in self.result}
        for line in (*lines, canonical(others if "seasons" in others else acts)):
            chain = hashlib.sha256(str(chain).encode() + line).hexdigest()
        self.result |= {
            "chain": chain,
            "games": sum(len(game.get("records", "1")) for game in self.games),
            "games_sha256": hashlib.sha256(packed).hexdigest(),
        }
        self.save_result()

    def save_result(self) -> None:
        self.file.write_bytes(canonical(self.result) + b"\n")


@pytest.mark.level(1)
def test_what_is_published_is_verified_by_several_processes(published: Path) -> None:
    verified = verify(published, processes=2, noted=COMMITMENT.hash)
    assert verified["games"] == 48
    assert verified["hash"] == COMMITMENT.hash


def _add_key(where: str, forger: Forger) -> None:
    """Add a key to a part of a game's record, or to the first entry of it."""
    part = forger.games[2]["record"][where] if where else forger.games[2]["record"]
    (part[0] if isinstance(part, list) else part).update(x="<script>")


def _own(record: dict[str, Any], seat: int) -> list[int]:
    """Return the decisions of a seat, from 1."""
    return [number for number, move in enumerate(record["moves"], start=1) if move["seat"] == seat]


def _unusual(record: dict[str, Any], seat: int) -> int:
    """Return a decision of a seat in which it bought something, as no fallback does."""
    return next(n for n in _own(record, seat) if record["moves"][n - 1]["move"].startswith("build"))


def _forfeit(forger: Forger) -> None:
    record = forger.games[8]["record"]
    blame(record, 0, _own(record, 0)[2], kind="forfeit")
    record["endings"][0] = "forfeit:crashed"


FORGERIES: dict[str, tuple[Callable[[Forger], object], str]] = {
    "a game is missing": (
        lambda f: f.games.pop(5),
        "round 2, table 1, rotation 2 is missing; round 2, table 1",
    ),
    "the first game is missing": (lambda f: f.games.pop(0), "round 1, table 1, rotation 1 is missing"),
    "the last game is missing": (lambda f: f.games.pop(), "round 12, table 1, rotation 4 is missing"),
    "a game is there twice": (lambda f: f.games.insert(2, f.games[1]), "rotation 3 is missing; round 1"),
    "a game was added": (
        lambda f: f.games.append({**f.games[0], "position": [13, 0, 0]}),
        "round 13, table 1, rotation 1 was added",
    ),
    "two games are swapped": (lambda f: f.games.reverse(), "round 1, table 1, rotation 1 is missing"),
    "two records are swapped": (
        lambda f: f.games[0].update(record=f.games[9]["record"]),
        "round 1, table 1, rotation 1: its deal, bots, seeds or kind",
    ),
    "a position is malformed": (lambda f: f.games[0].update(position="x"), "a game: malformed line"),
    "a key is added to a line": (lambda f: f.games[3].update(more=1), "a game: malformed line"),
    "a line has no record": (lambda f: f.games[3].pop("record"), "a game: malformed line"),
    "bots change their seats": (
        lambda f: f.games[0]["record"]["bots"].reverse(),
        "deal, bots, seeds or kind",
    ),
    "a seed of a bot changes": (lambda f: f.games[0].update(bot_seeds=[1, 2, 3, 4]), "deal, bots, seeds or"),
    "a seed of a deal changes": (
        lambda f: f.games[0]["record"]["deal"].update(seed=1),
        "cards are not those",
    ),
    "cards are exchanged": (lambda f: f.games[0]["record"]["deal"]["decks"][2].reverse(), "rotation 1: "),
    "a move is left out": (
        lambda f: f.games[4]["record"]["moves"].pop(3),
        "rotation 1: clock: think_us: 96 numbers",
    ),
    "the last move is left out": (
        lambda f: f.games[4]["record"]["moves"].pop(),
        "round 2, table 1, rotation 1: ",
    ),
    "a move is illegal": (
        lambda f: f.games[4]["record"]["moves"][0].update(move="buy x"),
        "rotation 1: move 1",
    ),
    "points change": (lambda f: f.games[7]["record"]["outcome"]["points"].reverse(), "rotation 4: outcome"),
    "an ending changes": (
        lambda f: f.games[8]["record"]["endings"].__setitem__(0, "forfeit:resigned"),
        "endings: random: resigned, which the incidents contradict",
    ),
    "a forfeit is invented": (
        lambda f: blame(f.games[8]["record"], 0, 1, kind="forfeit"),
        "endings: random: finished, which the incidents contradict",
    ),
    "a bot forfeits, and goes on": (_forfeit, ": the fallback plays "),
    "a late answer is invented": (
        lambda f: blame(f.games[8]["record"], 0, _unusual(f.games[8]["record"], 0)),
        ": the fallback plays ",
    ),
    "a late answer is invented while another seat decides": (
        lambda f: blame(f.games[8]["record"], 1, _own(f.games[8]["record"], 0)[0]),
        "timeout: the seat was not asked then, or had answered",
    ),
    "late answers are more than allowed": (
        lambda f: blame(f.games[8]["record"], 0, *_own(f.games[8]["record"], 0)[:4]),
        "incidents: random: 4 strikes, 3 are allowed",
    ),
    "a decision has two late answers": (
        lambda f: blame(f.games[8]["record"], 0, *_own(f.games[8]["record"], 0)[:1] * 2),
        "timeout: the seat was not asked then, or had answered",
    ),
    "a rating changes": (lambda f: f.result["ratings"][0].update(elo=2000.0), "ratings: the line of "),
    "a last digit changes": (
        lambda f: f.result["ratings"][1].update(elo=f.result["ratings"][1]["elo"] + 0.0001),
        "ratings: the line of ",
    ),
    "a rating is left out": (lambda f: f.result["ratings"].pop(), "ratings: the line of "),
    "a rating is added": (lambda f: f.result["ratings"].append({}), "ratings: it is not what"),
    "the table changes": (lambda f: f.result["table"][0].update(games=1), "table: the line of "),
    "a key is added": (lambda f: f.result.update(winner="random"), "'winner': there is no such key"),
    "a key is left out": (lambda f: f.result.pop("table"), "table: it is not what"),
    "an act is there twice": (
        lambda f: f.result["acts"].append(ACTS[1]),
        "acts: they are not in the order of time",
    ),
    "acts are swapped": (
        lambda f: f.result["acts"].reverse(),
        "acts: they are not in the order of time after act 7",
    ),
    "an act is to another bot": (
        lambda f: f.result["acts"][0].update(bot="zoe"),
        "acts: act 3 is not to a bot",
    ),
    "an act has an unknown key": (
        lambda f: f.result["acts"][0].update(x="<script>"),
        "acts: act 3: 'x': a key is unknown",
    ),
    "an act lacks a key": (lambda f: f.result["acts"][0].pop("bot"), "acts: act 3: 'bot': a key is unknown"),
    "an act is to a list": (lambda f: f.result["acts"][0].update(bot=["greedy"]), "act 3: bot: it can't be"),
    "an act has another time": (lambda f: f.result["acts"][0].update(at=1e308), "act 3: at: it can't be"),
    "an act is of no kind": (lambda f: f.result["acts"][0].update(kind="bribe"), "act 3: kind: there is no"),
    "an act has many lines": (lambda f: f.result["acts"][1].update(text="a\nb"), "act 7: text: it can't be"),
    "an act has a long text": (
        lambda f: f.result["acts"][1].update(text="a" * 5000),
        "text: it can't be",
    ),
    "an act voided less than none": (
        lambda f: f.result["acts"][1].update(deals=-1),
        "deals: it can't be",
    ),
    "an act has a huge id": (lambda f: f.result["acts"][1].update(id=10**4000), "order of time after act 3"),
    "a position is huge": (lambda f: f.games[0].update(position=[10**4000, 0, 0]), "a game: malformed line"),
    "seeds of bots are no list": (lambda f: f.games[0].update(bot_seeds={}), "a game: malformed line"),
    **{
        f"a record has an unknown key in {where or 'itself'}": (
            partial(_add_key, where),
            f"{where or 'record'}: ",
        )
        for where in ("", "config", "deal", "moves", "outcome", "clock")
    },
    "a record is of another format": (
        lambda f: f.games[2]["record"].update(format="happycity-record/2"),
        "rotation 3: format: 'happycity-record/2' instead of",
    ),
    "a result is of a later version": (
        lambda f: f.result.update(format="happycity-publication/3"),
        "format: 'happycity-publication/3' instead of 'happycity-publication/2'; use the version of",
    ),
    "it was played by other rules": (
        lambda f: f.commit(engine="rules 2, deals 1"),
        "engine: it was played by another version of the rules; verify it with that one",
    ),
    "a reason has two lines": (
        lambda f: f.games[2]["record"].update(reasons=["", "a\nb", "", ""]),
        "'a\\nb' is not one line",
    ),
    "there is no log": (lambda f: f.result.update(acts=None), "acts: they are not in the order"),
    "the seed changes": (lambda f: f.result.update(seed=4), "seed, salt: their hash is not"),
    "the salt changes": (
        lambda f: f.result.update(salt="another salt of it"),
        "seed, salt: their hash is not",
    ),
    "the configuration changes": (
        lambda f: f.result["commitment"]["config"].update(anchor="random"),
        "hash: it is not that of the commitment",
    ),
    "the beacon changes": (lambda f: f.result["commitment"].update(beacon="x"), "hash: it is not that"),
    "the commitment is malformed": (lambda f: f.result.update(commitment=[]), "commitment: malformed"),
}


@pytest.mark.level(1)
@pytest.mark.parametrize(("forge", "line"), FORGERIES.values(), ids=FORGERIES)
def test_forgeries_with_new_hashes_are_found(
    published: Path, tmp_path: Path, forge: Callable[[Forger], object], line: str
) -> None:
    assert line in Forger(Path(shutil.copytree(published, tmp_path / "cup"))).found(forge)


@pytest.mark.level(1)
@pytest.mark.parametrize("forge", [lambda acts: acts.pop(), lambda acts: acts[0].update(text="a friend")])
def test_a_changed_log_has_another_end_of_the_chain(
    published: Path, tmp_path: Path, forge: Callable[[Any], object]
) -> None:
    """As organisers write it, only the end that was noted shows that it was changed later."""
    forger = Forger(Path(shutil.copytree(published, tmp_path / "cup")))
    end = forger.result["chain"]
    forge(forger.result["acts"])
    forger.save_result()
    with pytest.raises(VerificationError, match="chain: it is not what"):
        verify(forger.folder, processes=1)
    forger.save()
    verify(forger.folder, processes=1)
    with pytest.raises(VerificationError, match="--noted"):
        verify(forger.folder, processes=1, noted=end)


@pytest.mark.level(2)
def test_bots_of_the_organiser_are_asked_again(published: Path, tmp_path: Path) -> None:
    """A legal move that the planner doesn't choose is found; so is another version of it."""
    assert verify(published, processes=1, sample=4, rng=Random(1))["games"] == 48
    forger = Forger(Path(shutil.copytree(published, tmp_path / "cup")))
    forger.commit(programs={"random": COMMITMENT.programs["planner"]})
    verify(forger.folder, processes=1)
    with pytest.raises(VerificationError, match=r"round \d+, table 1, rotation \d: move \d+: planner plays "):
        verify(forger.folder, processes=1, sample=4, rng=Random(1))
    forger.commit(programs={"planner": "planner 0"})
    with pytest.raises(ConfigError, match="--sample: planner was played by another version"):
        verify(forger.folder, processes=1, sample=4)
    forger.commit(programs={})
    with pytest.raises(ConfigError, match="--sample: the organiser started no bot"):
        verify(forger.folder, processes=1, sample=4)


@pytest.mark.level(2)
def test_an_incident_excuses_one_decision_and_no_more(published: Path, tmp_path: Path) -> None:
    """The planner is asked in all others, and where it was late the fallback has to have been played."""
    forger = Forger(Path(shutil.copytree(published, tmp_path / "cup")))
    for game in forger.games:
        record, bots = game["record"], {**dict(zip(BOTS, BOTS, strict=True)), "random2": "random"}
        clock = record["clock"]
        record = replayed_by(record, {**bots, "planner": "random"}, game["bot_seeds"])
        seat = record["bots"].index("planner")
        late = next(
            number
            for number in _own(record, seat)
            if record["moves"][number - 1]["move"] in ("keep", "draw 1", "coin", "decline")
        )
        blame(record, seat, late)
        clock["think_us"] = [1] * len(record["moves"])
        game["record"] = {**record, "clock": clock}
    forger.count()
    verify(forger.folder, processes=1)
    with pytest.raises(VerificationError, match=r"move \d+: planner plays "):
        verify(forger.folder, processes=1, sample=2, rng=Random(1))


CHANCE = (
    "import random; from happycity_client import Bot, run;"
    'run(type("Chance", (Bot,), {"choose": lambda self, decision: random.choice(decision.moves)}))'
)
GREEDY = "python -m happycity bot greedy={}"


@pytest.mark.level(2)
@pytest.mark.parametrize(
    ("command", "error", "text"),
    [
        (GREEDY.format("greedy"), None, ""),
        (
            GREEDY.format("random"),
            VerificationError,
            r"round \d+, table 1, rotation \d: move \d+: greedy plays ",
        ),
        ("python first.py", VerificationError, r"rotation \d: move \d+: greedy plays "),
        (
            "python -c 'raise SystemExit(7)'",
            ConfigError,
            "greedy can't be asked here: its program ended with",
        ),
        (
            f"python -c '{CHANCE}'",
            ConfigError,
            "greedy doesn't play the same each time that it is asked",
        ),
    ],
    ids=["same", "other bot", "other program", "fails", "without a seed"],
)
def test_hosted_bots_are_asked_again(
    published: Path, tmp_path: Path, command: str, error: type[Exception] | None, text: str
) -> None:
    """Their programs run in the sandbox; one whose moves don't follow from its seed can't be compared."""
    if reason := why_not():
        pytest.skip(reason)
    forger = Forger(Path(shutil.copytree(published, tmp_path / "cup")))
    forger.host("greedy", command)
    with nullcontext() if error is None else pytest.raises(error, match=text):
        verify(forger.folder, processes=1, sample=2, rng=Random(1))


HEAD = b'{"bot": {"name": "greedy"}}\n'
FORGED_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a byte of a program": (
        lambda file: file.write_bytes(
            gzip.compress(gzip.decompress(file.read_bytes()).replace(b"ZX", b"ZY"))
        ),
        "greedy .{12}: its content has the digest",
    ),
    "a program is cut off": (lambda file: file.write_bytes(file.read_bytes()[:-9]), "it can't be unpacked"),
    "a part is missing": (
        lambda file: write_lines(file, [b'{"bot": {"name": "greedy"}}\n']),
        "there are no files",
    ),
    "a part is no part": (lambda file: write_lines(file, [b"{}\n", b"[]\n"]), "it is a program of ''"),
    "a line is not JSON": (lambda file: write_lines(file, [b"{\n"]), "Failed to load JSON"),
    "a file leads out of its folder": (
        lambda file: write_lines(
            file,
            [b'{"bot": {"name": "greedy"}}\n', b'{"file": {"path": "../../x"}}\n', b'{"content": "eA=="}\n'],
        ),
        "is not a path below the folder",
    ),
    "another program is there": (
        lambda file: file.rename(file.with_name("0.jsonl.gz")),
        "this file doesn't belong",
    ),
}


@pytest.fixture(scope="module")
def hosted_program(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file with the program of a hosted bot, in a publication in which nothing is wrong."""
    folder = Path(shutil.copytree(published, tmp_path_factory.mktemp("hosting") / "cup"))
    file = Forger(folder).host("greedy", "python first.py")
    verify(folder, processes=1)
    return file


@pytest.mark.level(1)
@pytest.mark.parametrize(("forge", "line"), FORGED_FILES.values(), ids=FORGED_FILES)
def test_a_changed_file_of_a_hosted_bot_is_found(
    hosted_program: Path, tmp_path: Path, forge: Callable[[Path], object], line: str
) -> None:
    folder = Path(shutil.copytree(hosted_program.parent, tmp_path / "cup"))
    forge(folder / hosted_program.name)
    with pytest.raises(VerificationError, match=line) as found:
        verify(folder, processes=1)
    assert "\n" not in str(found.value)


@pytest.mark.level(1)
@pytest.mark.parametrize("key", ["chain", "games_sha256", "games"])
def test_a_changed_hash_or_count_is_found(published: Path, tmp_path: Path, key: str) -> None:
    forger = Forger(Path(shutil.copytree(published, tmp_path / "cup")))
    forger.result[key] = 7
    forger.save_result()
    with pytest.raises(VerificationError, match=f"{key}: it is not what the games give"):
        verify(forger.folder, processes=1)


@pytest.mark.parametrize("name", [GAMES_FILE, RESULT_FILE])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 1.0])
def test_one_changed_byte_is_found(published: Path, tmp_path: Path, name: str, share: float) -> None:
    path = Path(shutil.copytree(published, tmp_path / "cup")) / name
    data = bytearray(path.read_bytes())
    data[int(share * (len(data) - 1))] ^= 1
    path.write_bytes(data)
    with pytest.raises(VerificationError):
        verify(path.parent, processes=1)


def test_the_header_of_the_packed_games_is_covered(published: Path, tmp_path: Path) -> None:
    """Unpacking ignores the time in the header."""
    path = Path(shutil.copytree(published, tmp_path / "cup")) / GAMES_FILE
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    with pytest.raises(VerificationError, match="games_sha256"):
        verify(path.parent, processes=1)


def test_files_that_are_missing_or_added_are_found(published: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(published, tmp_path / "cup"))
    (folder / "more").touch()
    with pytest.raises(VerificationError, match="'more': this file doesn't belong"):
        verify(folder, processes=1)
    (folder / "more").unlink()
    (folder / GAMES_FILE).unlink()
    with pytest.raises(VerificationError, match="it is missing"):
        verify(folder, processes=1)
    with pytest.raises(ConfigError, match="there is no such file"):
        verify(tmp_path / "none", processes=1)


@pytest.mark.level(1)
def test_a_bomb_is_not_unpacked(published: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(published, tmp_path / "cup"))
    (folder / GAMES_FILE).write_bytes(gzip.compress(bytes(50 * 2**20)))
    with pytest.raises(VerificationError, match="a line has more than 1048576 bytes"):
        verify(folder, processes=1)


def test_another_commitment_than_the_noted_one_is_found(published: Path) -> None:
    with pytest.raises(VerificationError, match="--noted: 'abc' is none of its hashes"):
        verify(published, processes=1, noted="abc")


def test_the_deals_follow_from_seed_salt_and_beacon() -> None:
    """Without a beacon they are those of the seed alone."""
    assert COMMITMENT.deals == CONFIG
    seeds = {
        replace(COMMITMENT, beacon=beacon, salt=salt).deals.seed
        for beacon in ("one", "two")
        for salt in ("a salt of the test", "other salt of test")
    }
    assert len(seeds) == 4
    assert all(isinstance(seed, int) and seed < 2**53 for seed in seeds)


@pytest.mark.level(2)
def test_commands_commit_publish_and_verify(run: Run, tmp_path: Path) -> None:
    """Statuses: 0 if all is true, 1 if something was changed, 2 for bad input."""
    file = tmp_path / "cup.toml"
    file.write_text('seed = 5\nsalt = "0123456789abcdef"\nbeacon = "round 7"\nrounds = 1\n')
    status, seed_hash, _ = run("commit", "--config", file)
    assert status == 0
    status, _, errors = run("run", "--config", file)
    assert "commitment " in errors
    assert status == 0
    (folder,) = (tmp_path / "runs").iterdir()
    status, published, _ = run("publish", folder, "cup")
    assert status == 0
    status, output, _ = run("verify", "cup")
    assert output.splitlines()[-1].startswith("all of it is true: ")
    assert "no hash was compared: --noted HASH" in output
    status, output, _ = run("verify", "cup", "--noted", seed_hash.strip())
    assert output.endswith("replayed, ratings and hashes agree, and the noted hash is its own\n")
    assert (status, output.splitlines()[0]) == (0, "4 games")
    status, _, errors = run("verify", "cup", "--noted", "x")
    assert (status, len(errors.splitlines())) == (1, 1)
    assert run("verify", "nothing")[0] == 2
    assert run("publish", folder, "cup")[0] == 2
    for number, address in enumerate(((), (f"{folder}#1",), (folder / "games.sqlite",))):
        assert run("publish", *address, f"cup{number}")[1] == published
    assert run("publish")[2] == "error: FOLDER: it is missing; name the new folder to write\n"
    (folder / "games.sqlite").rename("elsewhere.sqlite")
    assert "no run in runs/ played it" in run("publish", "elsewhere.sqlite", "cup3")[2]
