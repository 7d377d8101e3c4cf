"""The site has every page, its links lead somewhere, and it asks nobody but its own server."""

import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from mkdocs.structure.files import File, Files
from playwright.sync_api import Page, sync_playwright
from tests.browser import chromium_program
from tests.waiting import MILLISECONDS
from tools import ROOT
from tools.docs.contract import contract_page
from tools.docs.diagrams import FOLDER, mark
from tools.docs.hooks import PLACES, relinked, with_tabs
from tools.release.packages import pack_site

from happycity.tournament.v1beta1 import tournament_service_pb2
from happycity.v1 import game_pb2, match_pb2, play_service_pb2

_PHONE = 390
# The row of tabs scrolls with the focus of its radio buttons, which axe doesn't see.
_RULES = {"runOnly": ["wcag2a", "wcag2aa"], "rules": {"scrollable-region-focusable": {"enabled": False}}}
_OVERFLOWING = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.mark.parametrize(
    ("link", "source", "place", "expected"),
    [
        ("[a](docs/rules.md#end)", "README.md", "index.md", "[a](rules.md#end)"),
        ("[a](../clients/go/README.md)", "docs/rules.md", "rules.md", "[a](sdks/go.md)"),
        ("[a](../../docs/rules.md)", "clients/go/README.md", "sdks/go.md", "[a](../rules.md)"),
        ("[a](../README.md#commands)", "docs/rules.md", "rules.md", "[a](index.md#commands)"),
        ("[a](../proto/happycity/v1/game.proto)", "docs/rules.md", "rules.md", "[a](reference/contract.md)"),
        ("[a](LICENSE)", "README.md", "index.md", "a"),
        ("[a](#here)", "README.md", "index.md", "[a](#here)"),
        ("[a](https://example.org/x)", "README.md", "index.md", "[a](https://example.org/x)"),
        ("![a](docs/pictures/viewer.webp)", "README.md", "index.md", "![a](pictures/viewer.webp)"),
    ],
)
def test_links_lead_to_the_places_on_the_site(link: str, source: str, place: str, expected: str) -> None:
    """A link to a file of the repository leads to its page; what isn't on the site is text."""
    names = ("index.md", "rules.md", "sdks/go.md", "pictures/viewer.webp", "reference/contract.md")
    files = Files([File(name, src_dir=None, dest_dir="", use_directory_urls=True) for name in names])
    assert relinked(link, source, place, files) == expected


def test_languages_become_tabs() -> None:
    text = "<details open>\n<summary>Go</summary>\n\nText:\n\n```go\nx\n```\n\n</details>\n\nAfter\n"
    assert with_tabs(text) == '=== "Go"\n\n    Text:\n\n    ```go\n    x\n    ```\n\n\nAfter\n'


def test_the_contract_has_every_message() -> None:
    page = contract_page(ROOT)
    for module in (game_pb2, match_pb2, play_service_pb2, tournament_service_pb2):
        file = module.DESCRIPTOR
        for name, message in file.message_types_by_name.items():
            assert f"### {name} {{" in page
            for field in message.fields:
                assert f"| `{field.name}` |" in page
        for name in (*file.enum_types_by_name, *file.services_by_name):
            assert f"### {name} {{" in page


@pytest.mark.parametrize("source", sorted(FOLDER.glob("*.dot")), ids=lambda path: path.name)
def test_diagrams_are_those_of_their_sources(source: Path) -> None:
    """Each picture was made from its source as it is; if not: python -m tools diagrams."""
    assert mark(source) in source.with_suffix(".svg").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Pack the site as for a release, where a warning is an error, and serve it; yield folder and address."""
    top = tmp_path_factory.mktemp("site")
    pack_site(top)
    (packed,) = top.iterdir()
    with tarfile.open(packed) as archive:
        archive.extractall(top, filter="data")
    folder = top / packed.name.removesuffix(".tar.gz")

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser_page() -> Iterator[Page]:
    """Yield a page of a Chromium; without one, the test is skipped."""
    program = chromium_program()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce")
        page.set_default_timeout(MILLISECONDS)
        yield page
        browser.close()


def test_every_page_is_on_the_site(site: tuple[Path, str]) -> None:
    """It builds without a warning, which a dead link or anchor would be, and no page is left out."""
    folder, _ = site
    names = [*PLACES.values(), *(str(path.relative_to(ROOT / "docs")) for path in ROOT.glob("docs/**/*.md"))]
    for name in names:
        place = folder / name.removesuffix(".md").removesuffix("index") / "index.html"
        assert place.is_file(), name


def test_pages_ask_only_their_server_and_fit(site: tuple[Path, str], browser_page: Page) -> None:
    """In a browser pages load nothing from elsewhere, report no error, fit a phone, and axe finds nothing."""
    _, address = site
    problems: list[str] = []
    browser_page.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
    browser_page.on(
        "request", lambda asked: None if asked.url.startswith(address) else problems.append(asked.url)
    )
    browser_page.set_viewport_size({"width": _PHONE, "height": 800})
    long = ("first-bot/other/", "reference/commands/", "reference/contract/", "reference/python/")
    for place in ("", "conformance/", *long):
        browser_page.goto(f"{address}/{place}", wait_until="networkidle")
        assert not browser_page.evaluate(_OVERFLOWING), place
        if place not in long:  # for which axe takes a minute each
            found = Axe().run(browser_page, options=_RULES)
            assert found.violations_count == 0, found.generate_report()
    assert not problems


def test_search_finds_pages(site: tuple[Path, str], browser_page: Page) -> None:
    _, address = site
    browser_page.set_viewport_size({"width": 1280, "height": 800})
    browser_page.goto(f"{address}?q=tournament")  # typing may come before the page listens
    browser_page.locator(".md-search-result__link").first.wait_for()
