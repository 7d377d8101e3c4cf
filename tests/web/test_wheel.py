"""The built wheel has all that pages and replays need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = [pytest.mark.thorough, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([UV, "build", "--wheel", "--quiet", "--out-dir", folder / "dist"], cwd=ROOT, check=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run(
        [UV, "pip", "install", "--quiet", "--no-deps", "--target", folder / "site", wheel], check=True
    )
    return folder / "site"


@dataclass(frozen=True)
class Wheel:
    """What the wheel installs, run in a folder."""

    site: Path
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """Variables by which the wheel is found before the checkout."""
        return {**os.environ, "PYTHONPATH": str(self.site)}

    def run(self, *arguments: object) -> str:
        """Run Python with some arguments to its end; return what it prints."""
        line = [sys.executable, *map(str, arguments)]
        done = subprocess.run(
            line, cwd=self.folder, env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    @contextmanager
    def serving(self, store: Path) -> Iterator[str]:
        """Serve a store while the context lasts; yield the address of its pages."""
        line = [
            *(sys.executable, "-m", "happycity", "serve", "--stop-with-stdin", "--grace", "0"),
            *("--listen", "127.0.0.1:0", "--web", "127.0.0.1:0", "--store", f"sqlite:///{store}"),
        ]
        with (
            (self.folder / "server.log").open("w") as log,
            subprocess.Popen(
                line,
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as server,
        ):
            assert server.stdin is not None
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())["web"]
            server.stdin.close()
            assert server.wait(60) == 0


async def test_pages_and_replays_work_from_the_wheel(
    installed: Path, tmp_path: Path, browser: Browser
) -> None:
    wheel = Wheel(installed, tmp_path)
    assert wheel.run("-c", "import happycity_viewer; print(happycity_viewer.__file__)").startswith(
        str(installed)
    )
    wheel.run("-m", "happycity", "play", "--watch", "--against", "random,greedy", "--seed", 3)
    wheel.run("-m", "happycity", "show", "--out", "game.html")
    wheel.run("-m", "happycity_tournament", "report", "--out", "report.html", "--replays", "replays")
    (store,) = (tmp_path / "runs").glob("*/games.sqlite")
    (replay,) = (tmp_path / "replays").iterdir()
    problems: list[str] = []
    page = await browser.new_page()
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    with wheel.serving(store) as web:
        for address in (f"{web}/matches/1", (tmp_path / "game.html").as_uri(), replay.as_uri()):
            await page.goto(f"{address}?ply=3")
            await page.get_by_role("link", name="Next", exact=True).click()
            await expect(page.locator("#board")).to_have_attribute("data-ply", "4")
            assert page.url == f"{address}?ply=4"
            await expect(page.locator(".seat").first).to_have_css("border-top-width", "4px")
    await page.close()
    assert not problems
