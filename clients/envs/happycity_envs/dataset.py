"""Games as arrays for learners: an episode is what one seat of a game saw and did, up to its end.

Games are replayed one at a time, so a source may be larger than the memory. Seats that were forfeited are
left out, as others chose for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from importlib.metadata import metadata, version
from itertools import chain, islice
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

import gymnasium
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.parquet import ParquetWriter

from happycity import Config, ConfigError, Ending, Move
from happycity.records.record import loads
from happycity.records.replay import endings_of, positions_of, record_at
from happycity.text.words import plural
from happycity_envs.selfplay import (
    ACTION_NUMBERING,
    OBSERVATION_LAYOUT,
    Observations,
    Reward,
    action_of,
    mask_of,
    rewards_of,
)
from happycity_runtime.files import replacing
from happycity_tournament.storage.sources import Source

_AT_ONCE = 200
"""Episodes that are written at once: some 20 MB of observations."""


class Episode(NamedTuple):
    """One seat of a game, with T decisions."""

    game: int
    """The game's place in its source, from 0."""
    config: Config
    seat: int
    bot: str
    deal_seed: int
    observations: NDArray[np.float32]
    """(T + 1) x size: the positions in which the seat decided, and the end of the game."""
    masks: NDArray[np.int8]
    """(T + 1) x 141: 1 for each legal action; none at the end."""
    actions: NDArray[np.int64]
    """T numbers of `happycity_envs.selfplay.ACTIONS`."""
    rewards: NDArray[np.float32]
    """T rewards: the last one is the seat's reward of the game, all others are 0."""


def episodes(source: Source, *, bots: Collection[str], reward: Reward) -> Iterator[Episode]:
    """Yield the episodes of all games that have a record, in the order of the source and by seat.

    With `bots`, only those of these bots.

    Raises:
        ConfigError: a game is of another kind than the first one, or there is no such episode.
        RecordError, ReplayError: a record is malformed, or the rules contradict it.
    """
    kind, count = None, 0
    for number, (game, text) in enumerate(source.games(with_records=True)):
        if text is None:
            continue
        kind = kind or game.config
        if game.config != kind:
            raise ConfigError(
                f"game {game.match_id} is of another kind than those before it; take them apart"
            )
        with record_at(f"game {game.match_id}"):
            for episode in _of_game(text, kind, reward):
                if not bots or game.bots[episode.seat] in bots:
                    count += 1
                    yield episode._replace(game=number, bot=game.bots[episode.seat], deal_seed=game.deal_seed)
    if not count:
        raise ConfigError(f"{source.name}: no game with a record has such a seat")


def _of_game(text: str, config: Config, reward: Reward) -> list[Episode]:
    """Return the episodes of a game, without its number, bots and seed."""
    record, observations = loads(text), Observations(config.players)
    rows: list[list[NDArray[np.float32]]] = [[] for _ in range(config.players)]
    masks: list[list[NDArray[np.int8]]] = [[] for _ in rows]
    actions: list[list[int]] = [[] for _ in rows]
    for game, move in zip(positions_of(record), [*record["moves"], None], strict=True):
        if move is not None:
            rows[game.seat].append(observations.of(game, game.seat))
            masks[game.seat].append(mask_of(game.legal_moves))
            actions[game.seat].append(action_of(Move.parse(move["move"])))
    assert game.outcome is not None
    found, paid = [], rewards_of(game.outcome, reward)
    for seat, ending in enumerate(endings_of(record)):
        if ending is Ending.FINISHED and actions[seat]:
            rewards = np.zeros(len(rows[seat]), np.float32)
            rewards[-1] = paid[seat]
            seen = np.vstack([*rows[seat], observations.of(game, seat)])
            shown = np.vstack([*masks[seat], mask_of(())])
            found.append(Episode(0, config, seat, "", 0, seen, shown, np.array(actions[seat]), rewards))
    return found


def write_parquet(found: Iterator[Episode], out: Path) -> int:
    """Write a row for each decision, one episode after the other; return the number of episodes."""
    count = 0
    with replacing(out) as path:
        writer = None
        while some := list(islice(found, _AT_ONCE)):
            table = _table(some, first=count)
            writer = writer or ParquetWriter(path, table.schema, compression="zstd")
            writer.write_table(table)
            count += len(some)
        assert writer is not None  # without an episode there was an error
        writer.close()
    return count


def _table(some: Sequence[Episode], *, first: int) -> pa.Table:
    lengths = [len(episode.actions) for episode in some]

    def repeated(values: Sequence[object], kind: pa.DataType) -> pa.Array:
        return pa.array(np.repeat(np.array(values), lengths), kind)

    def rows(arrays: Sequence[NDArray[np.generic]]) -> pa.Array:
        joined = np.concatenate([array[:-1] for array in arrays])
        return pa.FixedSizeListArray.from_arrays(pa.array(joined.ravel()), joined.shape[1])

    columns = {
        "episode": repeated(range(first, first + len(some)), pa.int64()),
        "game": repeated([episode.game for episode in some], pa.int64()),
        "seat": repeated([episode.seat for episode in some], pa.int8()),
        "bot": repeated([episode.bot for episode in some], pa.string()),
        "deal_seed": repeated([episode.deal_seed for episode in some], pa.uint64()),
        "observation": rows([episode.observations for episode in some]),
        "mask": rows([episode.masks for episode in some]),
        "action": pa.array(np.concatenate([episode.actions for episode in some]), pa.int16()),
        "reward": pa.array(np.concatenate([episode.rewards for episode in some])),
        "return": repeated([episode.rewards[-1] for episode in some], pa.float32()),
    }
    return pa.table(columns)


def write_minari(found: Iterator[Episode], out: Path, *, reward: Reward, author: str = "") -> int:
    """Write the new folder of a data set that Minari loads; return the number of episodes.

    Masks are the info `action_mask`; an episode's options are its game, seat, bot and the seed of its deal.
    The data set says by what it was made, as Minari's list of public ones asks for. The folder is there when
    all of it is.
    """
    from minari.data_collector import EpisodeBuffer  # noqa: PLC0415 - Parquet does without
    from minari.dataset.minari_storage import MinariStorage  # noqa: PLC0415

    first = next(found)
    env = gymnasium.make(
        "happycity_envs.gymnasium:HappyCity-v0",
        opponents=("planner",) * (first.config.players - 1),
        mode=first.config.mode.value,
        scoring=first.config.scoring.value,
        reward=reward.value,
    )
    partial = out.resolve().with_name(f".{out.name}.partial")
    rmtree(partial, ignore_errors=True)
    (partial / "data").mkdir(parents=True)
    storage = MinariStorage.new(partial / "data", env_spec=env.spec, data_format="hdf5")
    bots, games = set[str](), set[int]()

    def buffers() -> Iterator[EpisodeBuffer]:
        for episode in chain([first], found):
            bots.add(episode.bot)
            games.add(episode.game)
            ended = np.arange(len(episode.actions)) == len(episode.actions) - 1
            yield EpisodeBuffer(
                options={
                    "game": episode.game,
                    "seat": episode.seat,
                    "bot": episode.bot,
                    "deal_seed": str(episode.deal_seed),  # a number of JSON ends at 2^53 in many readers
                },
                observations=episode.observations,
                actions=episode.actions,
                rewards=episode.rewards,
                terminations=ended,
                truncations=np.zeros_like(ended),
                infos={"action_mask": episode.masks},
            )

    storage.update_episodes(buffers())
    count = int(storage.total_episodes)
    content = f"{plural(count, 'episode')} of {plural(len(games), 'game')}"
    described = _description(content, first.config, reward=reward, bots=bots, author=author)
    storage.update_metadata({"dataset_id": out.name, "minari_version": version("minari"), **described})
    partial.rename(out)
    return count


def _description(
    content: str, config: Config, *, reward: Reward, bots: Collection[str], author: str
) -> dict[str, object]:
    """Return what Minari's lists show of a data set with some content."""
    own = metadata("happycity")
    links = dict(line.split(", ", 1) for line in own.get_all("Project-URL", ()))
    return {
        "author": {author or own["Author"]},
        "algorithm_name": ", ".join(sorted(bots)),
        "code_permalink": links["Repository"],
        "requirements": [f"happycity[gymnasium]=={own['Version']}"],
        "description": (
            f"{content} of Happy City with {config.players} players, {config.mode.value} and "
            f"{config.scoring.value} scoring: what one seat saw and did. Rewards: {reward.value}. "
            f"Observation layout {OBSERVATION_LAYOUT}, action numbering {ACTION_NUMBERING}; "
            f"see {links['Documentation']}."
        ),
    }
