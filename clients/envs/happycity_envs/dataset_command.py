"""`happycity dataset`: games as arrays for learners."""

# ruff: noqa: PLC0415 - the help of `happycity` does without databases and arrays

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from happycity import ConfigError
from happycity.text.words import plural
from happycity_runtime.commands import check_output, remark
from happycity_runtime.installation import check_installed
from happycity_tournament.cli.options import Source as Games


def dataset(
    address: Games = None,
    *,
    file_format: Annotated[
        Literal["parquet", "minari"], typer.Option("--format", help="The format to write.")
    ] = "parquet",
    out: Annotated[Path, typer.Option(help="The file of Parquet, or the new folder NAME-vN of Minari.")],
    bots: Annotated[
        str, typer.Option(metavar="NAME,...", help="Only seats of these bots.  [default: all bots]")
    ] = "",
    reward: Annotated[
        Literal["rank", "points"],
        typer.Option(help="What a game pays: by the place, 1 to -1, or its points / 100."),
    ] = "rank",
    author: Annotated[
        str, typer.Option(help="Who made it, in Minari's lists.  [default: the authors of this program]")
    ] = "",
) -> None:
    """Write games as arrays for learners.

    An episode is one seat of a game: observation, mask, action and reward of each of its decisions. The same
    games give the same bytes.
    """
    check_installed("dataset")
    from happycity_envs.dataset import episodes, write_minari, write_parquet
    from happycity_envs.selfplay import Reward
    from happycity_tournament.cli.addresses import open_sources, refuse_overwriting
    from happycity_tournament.cli.tables import reading_games

    if file_format == "minari" and (out.exists() or not re.fullmatch(r"[-\w]+-v\d+", out.name)):
        raise ConfigError(f"--out: {out}: Minari takes a new folder that is named like planner-v0")
    with open_sources([address]) as (source,), reading_games():
        source.check()
        found = episodes(source, bots=set(filter(None, bots.split(","))), reward=Reward(reward))
        if file_format == "minari":
            count = write_minari(found, out, reward=Reward(reward), author=author)
        else:
            refuse_overwriting(source, out)
            check_output("--out", out)
            count = write_parquet(found, out)
    remark(f"{out}: {plural(count, 'episode')}")
