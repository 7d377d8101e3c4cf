"""The built wheel has all that pages and replays need."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect
from tests.server.server_process import server_process

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = [pytest.mark.level(3), pytest.mark.asyncio(loop_scope="session")]


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


async def test_pages_and_replays_work_from_the_wheel(
    installed: Path, tmp_path: Path, browser: Browser
) -> None:
    wheel = Wheel(installed, tmp_path)
    assert wheel.run("-c", "import happycity_viewer; print(happycity_viewer.__file__)").startswith(
        str(installed)
    )
    wheel.run("-m", "happycity", "play", "--watch", "--against", "random,greedy", "--seed", 3)
    wheel.run("-m", "happycity", "show", "--out", "game.html")
    wheel.run("-m", "happycity_tournament", "report", "--out", "report.html")
    (store,) = (tmp_path / "runs").glob("*/games.sqlite")
    problems: list[str] = []
    page = await browser.new_page()
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    with server_process(store.parent, "--web", "127.0.0.1:0", env=wheel.environment) as server:
        for address in (f"{server.web}/matches/1", (tmp_path / "game.html").as_uri()):
            await page.goto(f"{address}?ply=3")
            await page.get_by_role("link", name="Next", exact=True).click()
            await expect(page.locator("#board")).to_have_attribute("data-ply", "4")
            assert page.url == f"{address}?ply=4"
            await expect(page.locator(".seat").first).to_have_css("border-top-width", "4px")
    await page.close()
    assert not problems
