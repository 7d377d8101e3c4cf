"""Minari lists, loads and splits an exported data set by its own means, under one name."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import LIMIT

minari = pytest.importorskip("minari")


def test_minari_lists_and_loads_a_data_set(
    run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("dataset", run_folder, "--format", "minari", "--out", tmp_path / "greedy-v0", "--bots", "greedy")
    subprocess.run([sys.executable, "-m", "happycity", *words], check=True, timeout=LIMIT)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    listed = minari.list_local_datasets()
    assert list(listed) == ["greedy-v0"]
    loaded = minari.load_dataset("greedy-v0")
    assert (loaded.id, loaded.total_episodes) == ("greedy-v0", listed["greedy-v0"]["total_episodes"])
    first, *others = minari.split_dataset(loaded, sizes=[1, 1])
    assert first.total_episodes == 1
    assert len(others) == 1
