"""Print how strong the snapshots of a run of clients/envs/examples/ppo.py are: Elo over another bot.

Each deal is played twice, with the seats exchanged. Decisions and CPU time are those of the training.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from happycity import Config, Mode
from happycity_bots import BOTS
from happycity_envs.arena import policy_bot
from tools import ROOT
from tools.training.matches import compare

SEED = 4 * 10**9
"""The first deal; no run has learnt from it."""


def example(name: str) -> Any:
    """Return the module of an example."""
    path = ROOT / "clients/envs/examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Print a Markdown table, each row as soon as it is known."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="where ppo.py has kept its weights")
    parser.add_argument("--rival", choices=BOTS, default="greedy")
    parser.add_argument("--deals", type=int, default=100, help="of each comparison, 2 or more")
    parser.add_argument("--every", type=int, default=1, help="compare each n-th snapshot, and the last")
    parser.add_argument("--seats", dest="players", type=int, default=4, choices=range(2, 6))
    parser.add_argument("--mode", type=Mode, default=Mode.FAMILY, choices=list(Mode))
    options = parser.parse_args()
    if options.deals < 2:
        parser.error(f"--deals {options.deals}: an interval takes 2 or more")
    ppo, config = example("ppo"), Config(players=options.players, mode=options.mode)
    lines = (options.folder / "training.jsonl").read_text(encoding="utf-8").splitlines()
    print(f"| decisions | CPU minutes | Elo over `{options.rival}` |\n|---:|---:|---:|")
    for number, line in enumerate(lines):
        if number % options.every and number < len(lines) - 1:
            continue
        point = json.loads(line)
        bot = policy_bot(ppo.policy_of(ppo.load(options.folder / point["file"])))
        result = compare(bot, BOTS[options.rival], config, deals=options.deals, seed=SEED)
        print(f"| {point['decisions']:,} | {point['cpu_seconds'] / 60:.1f} | {result.lead} |", flush=True)
