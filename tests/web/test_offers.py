"""Nothing is offered to who can't take it: every link and form that a caller sees is followed."""

import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
import pytest_asyncio
from tests.server import harness as h
from tests.server.api.ladders import FILE
from tests.server.conftest import playing
from tests.waiting import LIMIT

from happycity_runtime.tokens import Role
from happycity_runtime.transport import Access

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROLES = {"observer": Role.OBSERVER, "anna": Role.BOT, "organiser": Role.ORGANISER}
FOR_PROGRAMS = re.compile(r"HAPPYCITY_[A-Z]+|\bhappycity [a-z]+|\btournament run\b|(?<![\w-])--[a-z]{3,}")
"""Environment variables and command lines."""
DEVELOPERS = ("anna", "organiser")
"""Who runs programs: commands are for them."""
TYPED = {"name": "Zoe", "token": "", "owner": "Team 7", "link": "x", "bots": "b1", "lang": "en"}
"""What is typed into fields that have to be filled."""
ALIKE = 2
"""Pages that are followed of those whose addresses differ by numbers and what they ask for alone."""
STORED = ("revoke", "withdraw", "renew")
"""What buttons do that would end what other pages offer."""


@dataclass
class Form:
    action: str
    is_post: bool
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str]] = field(default_factory=list)


class Offers(HTMLParser):
    """The links and forms of a page, and the text that people read."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links = set[str]()
        self.forms: list[Form] = []
        self.text = ""
        self._hidden = 0
        self._select = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attributes}
        self._hidden += tag in ("script", "style")
        if tag == "a" and "href" in named:
            self.links.add(named["href"])
        elif tag == "form":
            self.forms.append(Form(named.get("action", ""), named.get("method") == "post"))
        elif not self.forms:
            return
        elif tag == "input" and named.get("type") not in ("checkbox", "submit"):
            is_chosen = named.get("type") != "radio" or "checked" in named
            if is_chosen and "name" in named:
                typed = TYPED.get(named["name"], "") if "required" in named else ""
                self.forms[-1].fields[named["name"]] = named.get("value") or typed
        elif tag == "button" and named.get("name"):
            self.forms[-1].buttons.append((named["name"], named.get("value", "")))
        elif tag == "select":
            self._select = named.get("name", "")
        elif tag == "option" and ("selected" in named or self._select not in self.forms[-1].fields):
            self.forms[-1].fields[self._select] = named.get("value", "")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += data


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def url(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Yield a public server with a ladder, a house, a finished match, a secret one, and an open table."""
    folder = tmp_path_factory.mktemp("offers")
    tokens, ladder = folder / "tokens.json", folder / "ladder.toml"
    ladder.write_text(FILE)
    clear = {name: h.issued_token(tokens, role, name) for name, role in ROLES.items()}
    TOKENS.update(clear)
    values: dict[str, Any] = {"tokens": tokens, "public": True, "house": "random", "ladder": ladder}
    values |= {"calls_per_second": 1e6, "calls_burst": 1_000_000, "guests_play": 1000}
    values |= {"practice_matches": 1000}
    async with h.serving(folder, web="127.0.0.1:0", **values) as (server, channel):
        organiser, matches = h.bearer(clear["organiser"]), h.matches_at(channel)
        async with playing(server.address, "anna", access=Access(token=clear["anna"]), games=0):
            await h.met(channel, "random", metadata=organiser)
            played = await matches.CreateMatch(organiser, **h.terms("anna", "random"))
            await h.ended_match(matches, played.match_id, organiser)
        await matches.CreateMatch(organiser, **h.terms("random", "absent", seed=7))
        yield server.web or ""


TOKENS: dict[str, str] = {}


async def crawl(url: str, token: str | None, *, may_read_commands: bool) -> set[str]:
    """Follow all that a caller is offered from the first page on; return the paths of the pages."""
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    waiting, seen, submitted = ["/"], {"/"}, set[str]()
    alike = Counter[str]()
    problems: list[str] = []

    def check(where: str, answer: httpx.Response) -> None:
        if answer.status_code in (401, 403) or answer.status_code >= 500:
            problems.append(f"{where}: {answer.status_code}")
        if "text/html" not in answer.headers.get("content-type", ""):
            return
        offers = Offers(answer.text)
        found = set(FOR_PROGRAMS.findall(offers.text))
        if found and not may_read_commands:
            problems.append(f"{where}: {found}")
        if "/token" in offers.links and token is not None:
            problems.append(f"{where}: signs in again")
        for link in offers.links:
            path = urljoin(where, link).partition("#")[0]
            parts = urlsplit(path)
            # In other languages, pages offer the same.
            if parts.scheme or parts.netloc or "lang=" in path or path in seen:
                continue
            alike[kind := re.sub(r"=[^&]*|\d+", "N", path)] += 1
            if alike[kind] > ALIKE:
                continue
            seen.add(path)
            waiting.append(path)
        for form in offers.forms:
            action = urljoin(where, form.action)
            # What needs a secret that was given to nobody is tried elsewhere.
            if "password" not in str(form.fields) and not {"token", "link"} & form.fields.keys():
                forms.append((action, form))

    forms: list[tuple[str, Form]] = []
    async with httpx.AsyncClient(base_url=url, timeout=LIMIT, headers=headers) as client:
        while waiting or forms:
            client.cookies.clear()  # each form as a browser of its own, which has a seat at one table
            if waiting:
                path = waiting.pop()
                check(path, await client.get(path))
                continue
            action, form = forms.pop()
            for name, value in form.buttons or [("", "")]:
                key = f"{action} {sorted(form.fields)} {name} {value}"
                if key in submitted or value in STORED:
                    continue
                submitted.add(key)
                fields = form.fields | ({name: value} if name else {})
                fields |= {"name": f"Zoe {len(submitted)}"} if "name" in fields else {}
                if form.is_post:
                    answer = await client.post(action, data=fields)
                else:
                    answer = await client.get(action, params=fields)
                check(action, answer)
                if answer.is_redirect:
                    check(answer.headers["location"], await client.get(answer.headers["location"]))
    assert not problems
    assert submitted or token is not None
    return {urlsplit(path).path for path in seen}


@pytest.mark.level(3)
@pytest.mark.parametrize("viewer", ["visitor", *ROLES])
async def test_every_offer_can_be_taken(url: str, viewer: str) -> None:
    """Links and forms lead to no 401 and 403; who runs no programs reads no commands and no variables."""
    token = None if viewer == "visitor" else TOKENS[viewer]
    seen = await crawl(url, token, may_read_commands=viewer in DEVELOPERS)
    assert {"/play", "/how-to-play", "/matches", "/ladder"} <= seen
    assert ("/access" in seen) is (token is not None)
    assert ("/token" in seen) is (token is None)


@pytest.mark.level(2)
@pytest.mark.parametrize("viewer", ["visitor", *ROLES])
async def test_menu_of_a_private_server(viewer: str, tmp_path: Path) -> None:
    """Where visitors may do nothing, what is left to them is to sign in; an observer sets up no table."""
    tokens = tmp_path / "tokens.json"
    clear = {name: h.issued_token(tokens, role, name) for name, role in ROLES.items()}
    headers = {} if viewer == "visitor" else {"authorization": f"Bearer {clear[viewer]}"}
    async with (
        h.pages(tmp_path, tokens=tokens, house="random") as url,
        httpx.AsyncClient(base_url=url, timeout=LIMIT, headers=headers) as client,
    ):
        page = Offers((await client.get("/how-to-play")).text)
        assert ("/play" in page.links) is (viewer in DEVELOPERS)
        assert ("/token" in page.links) is (viewer == "visitor")
        refused = await client.get("/play")
        assert refused.status_code == {"visitor": 401, "observer": 403}.get(viewer, 200)
        assert not FOR_PROGRAMS.findall(Offers(refused.text).text)
        assert (await client.get("/token")).status_code == 200
