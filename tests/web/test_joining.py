"""Access in the browser: an organiser's invitations, a guest who joins, and an owner's tokens."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
import trustme
from playwright.async_api import Browser, Page, Request, expect
from tests.server import harness as h
from tests.waiting import LIMIT
from tests.web.table import check_layout

from happycity.access.v1beta1 import access_service_pb2 as pb
from happycity.access.v1beta1.access_service_pb2_grpc import AccessServiceStub
from happycity_runtime.guests import Link
from happycity_runtime.tokens import Role, read_tokens_file

pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass(frozen=True)
class Competition:
    url: str
    tokens: Path
    organiser: str
    guests: Any
    """The stub of its AccessService."""

    def client(self, token: str = "") -> httpx.AsyncClient:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx.AsyncClient(timeout=LIMIT, base_url=self.url, headers=headers)

    async def invited(self, bots: int = 2) -> str:
        """Return the link of a new invitation of Team 7 for the terminal."""
        request = pb.CreateInvitationRequest(owner="Team 7", bots=bots)
        return str((await self.guests.CreateInvitation(request, metadata=h.bearer(self.organiser))).link)


@pytest_asyncio.fixture(loop_scope="session")
async def competition(tmp_path: Path) -> AsyncIterator[Competition]:
    """Yield a server with tokens and a certificate for its guests."""
    tokens, ca = tmp_path / "tokens.json", tmp_path / "ca.pem"
    trustme.CA().cert_pem.write_to_path(str(ca))
    organiser = h.issued_token(tokens, Role.ORGANISER, "olga")
    guest: Any = {"guest_address": "grpcs://arena.example:443", "guest_ca": ca}
    async with h.serving(tmp_path, web="127.0.0.1:0", tokens=tokens, **guest) as (server, channel):
        assert server.web is not None
        yield Competition(server.web, tokens, organiser, AccessServiceStub(channel))


@asynccontextmanager
async def tab(browser: Browser, url: str) -> AsyncIterator[Page]:
    """Give a tab of a browser without tokens on a phone; nothing may be loaded from elsewhere, nor fail."""
    async with await browser.new_context(base_url=url, viewport={"width": 375, "height": 700}) as context:
        page = await context.new_page()
        problems: list[str] = []
        asked: list[Request] = []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: asked.append(request))  # noqa: PLW0108 - Playwright takes functions only
        yield page
        assert not problems
        for request in asked:
            assert request.url.startswith((f"{url}/", "data:"))
            assert "hci_" not in f"{request.url} {request.headers}"


async def saved(page: Page, name: str) -> str:
    async with page.expect_download() as download:
        await page.get_by_role("link", name=f"Save {name}").click()
    made = await download.value
    assert made.suggested_filename == name
    return await asyncio.to_thread((await made.path()).read_text)


async def test_a_guest_joins_in_the_browser(browser: Browser, competition: Competition) -> None:
    """By the organiser's link a guest gets files of settings, and then renews and revokes tokens."""
    async with tab(browser, competition.url) as page:
        await page.goto(f"/access?token={competition.organiser}")
        await page.get_by_label("Guest").fill("Team 7")
        await page.get_by_label("Number of bots").fill("2")
        await page.get_by_role("button", name="Create the invitation").click()
        link = await page.get_by_label("Send it by a private channel").input_value()
        assert Link.parse(link).page == competition.url
        await page.get_by_role("button", name="Copy").click()
        await expect(page.get_by_text("Copied").or_(page.get_by_text("Selected: copy it"))).to_be_visible()
        assert await page.evaluate("getSelection().toString()") == link
        await check_layout(page)
        await page.goto("/access")
        assert link not in await page.content()
        await expect(page.locator("li.entry")).to_contain_text("Team 7")
    async with tab(browser, competition.url) as page:
        await page.emulate_media(color_scheme="dark")
        await page.goto(link)
        await expect(page.get_by_label("Names of your bots")).to_be_focused()
        assert await page.evaluate("location.href") == f"{competition.url}/join"
        await check_layout(page)
        await page.get_by_role("link", name="Polski").click()
        await page.get_by_role("link", name="English").click()
        await page.get_by_label("Names of your bots").fill("alice, bea")
        await page.get_by_role("button", name="Join").click()
        await expect(page.get_by_role("heading", name="Save them now")).to_be_visible()
        await check_layout(page)
        first, ca = await saved(page, "happycity.env"), await saved(page, "happycity-ca.pem")
        values = dict(line.split("=", 1) for line in first.splitlines()[1:])
        assert values["HAPPYCITY_SERVER"] == "grpcs://arena.example:443"
        assert (values["HAPPYCITY_CA"], ca) == ("happycity-ca.pem", Link.parse(link).ca)
        own = h.bearer(values["HAPPYCITY_TOKEN"])
        listed = await competition.guests.ListTokens(pb.ListTokensRequest(), metadata=own)
        assert sorted(token.name for token in listed.tokens) == ["alice", "bea"]

        await page.get_by_role("link", name="See your tokens").click()
        await expect(page.get_by_role("button", name="Renew the tokens")).to_be_visible()
        await check_layout(page)
        await page.get_by_role("button", name="Renew the tokens").click()
        second = await saved(page, "happycity.env")
        assert not {*re.findall("hc_[^,\n]+", first)} & {*re.findall("hc_[^,\n]+", second)}
        await page.goto("/access")  # by the new token, which ends the one before
        replaced = competition.guests.ListTokens(pb.ListTokensRequest(), metadata=own)
        assert (await h.outcome_of(replaced)).reason == "UNAUTHENTICATED"
        await page.locator("li.entry", has_text="bea").get_by_text("Revoke").first.click()
        await page.get_by_role("button", name="Revoke bea").click()
        await expect(page.locator("li.entry")).to_have_count(1)
        assert [one.name for one in read_tokens_file(competition.tokens).tokens] == ["olga", "alice"]


@pytest.mark.parametrize(
    ("bots", "problem"),
    [
        ("alice bea carl", "name 1 to 2 different bots, not 3"),
        ("", "name 1 to 2 different bots, not 0"),
        ("a/b", "use 1-64 of"),
        ("alice Alice", "name 1 to 2 different bots, not 2"),
        ("alice.json", "it reads as the address of a page"),
        ("olga", "belongs to another owner"),
        ("Olga", "belongs to another owner"),
    ],
)
async def test_the_form_says_what_is_wrong(competition: Competition, bots: str, problem: str) -> None:
    """The invitation stays good, and the form is filled as it was."""
    h.issued_token(competition.tokens, Role.BOT, "olga")
    link = await competition.invited()
    async with competition.client() as client:
        refused = await client.post("/join", data={"link": link, "bots": bots})
        assert (refused.status_code, problem in refused.text, link in refused.text) == (400, True, True)
        assert "set-cookie" not in refused.headers
        joined = await client.post("/join", data={"link": link, "bots": "alice"})
        assert (joined.status_code, joined.headers["cache-control"]) == (200, "no-store")
        assert joined.headers["referrer-policy"] == "same-origin"
        again = await client.post("/join", data={"link": link, "bots": "bea"})
        assert "unknown, used or expired" in again.text


async def test_joining_replaces_no_valid_token_of_the_browser(competition: Competition) -> None:
    async with competition.client() as client:
        await client.get("/access", params={"token": competition.organiser})
        joined = await client.post("/join", data={"link": await competition.invited(), "bots": "alice"})
        assert (joined.status_code, "set-cookie" in joined.headers) == (200, False)


async def test_no_secret_is_logged(competition: Competition, capfd: pytest.CaptureFixture[str]) -> None:
    link = await competition.invited(1)
    async with competition.client() as client:
        for bots in ("a/b", "alice", "bea"):
            await client.post("/join", data={"link": link, "bots": bots})
    logged = "".join(capfd.readouterr())
    assert "hci_" not in logged
    assert Link.parse(link).secret.split("_", 2)[2] not in logged


async def test_forms_are_for_those_who_may(competition: Competition) -> None:
    """Other sites, other roles and bad fields change nothing."""
    async with competition.client(competition.organiser) as client:
        elsewhere = {"origin": "https://evil.example"}
        for path in ("/join", "/access"):
            assert (await client.post(path, data={"act": "invite"}, headers=elsewhere)).status_code == 421
        for changed in ({"owner": "two\nlines"}, {"bots": "65"}, {"bots": ""}, {"days": "0"}, {"act": "?"}):
            fields = {"act": "invite", "owner": "Team 7", "bots": "1", "days": "7", **changed}
            assert (await client.post("/access", data=fields)).status_code == 400, changed
        assert (await client.post("/access", data={"act": "renew"})).status_code == 403
    async with competition.client(h.issued_token(competition.tokens, Role.BOT, "zoe")) as client:
        fields = {"act": "invite", "owner": "Team 7", "bots": "1", "days": "7"}
        assert (await client.post("/access", data=fields)).status_code == 403
        assert (await client.post("/access", data={"act": "revoke", "id": "00000000"})).status_code == 400
        shown = (await client.get("/access.json")).json()
        assert (shown["owner"], shown["role"], shown["invitations"]) == ("zoe", "bot", None)
    assert read_tokens_file(competition.tokens).invitations == []


async def test_an_invitation_is_revoked(competition: Competition) -> None:
    await competition.invited()
    (one,) = read_tokens_file(competition.tokens).invitations
    async with competition.client(competition.organiser) as client:
        for status in (303, 400):  # the second time there is none
            answer = await client.post("/access", data={"act": "withdraw", "id": one.id})
            assert answer.status_code == status
    assert read_tokens_file(competition.tokens).invitations == []


@asynccontextmanager
async def hosting(tmp_path: Path) -> AsyncIterator[tuple[str, str]]:
    """Yield the pages of a server whose sandbox runs no bot, and the token of a bot's author."""
    tokens = tmp_path / "tokens.json"
    token = h.issued_token(tokens, Role.BOT, "alice")
    own: Any = {"hosted": tmp_path / "bots", "sandbox": "sh -c 'echo sesame' {socket} {folder} {command}"}
    async with h.serving(tmp_path, web="127.0.0.1:0", tokens=tokens, **own) as (server, _):
        assert server.web is not None
        yield server.web, token


@pytest.mark.level(2)
async def test_files_as_a_browser_sends_them(tmp_path: Path) -> None:
    """A line of JSON and the contents of files are a submission; anything else is refused in one line."""

    def body(content: str, *files: tuple[str, object], command: str = "x") -> bytes:
        described = {"command": command, "language": "", "files": files}
        return f"{json.dumps(described)}\n{content}".encode()

    refused = {
        b"": (409, "interrupted"),
        b"[]\n": (400, "load the page again"),
        b"x" * 2_000_000: (400, "load the page again"),
        body("x", ("../up", 1)): (400, "not a path below the folder"),
        body("x", ("bot.py", "many")): (400, "load the page again"),
        body("x", ("bot.py", 2)): (409, "interrupted"),
        body(""): (400, "there are no files"),
        body("x", ("bot.py", 1), command="'x"): (400, "can't read the command"),
    }
    async with hosting(tmp_path) as (url, token):
        async with httpx.AsyncClient(
            timeout=LIMIT, base_url=url, headers={"authorization": f"Bearer {token}"}
        ) as author:
            for content, (status, says) in refused.items():
                answer = await author.post("/hosted.json", content=content)
                assert (answer.status_code, says in answer.json()["text"]) == (status, True), answer.text
            answer = await author.post(
                "/hosted.json", content=body("ab" * 99_999, ("a", 3), ("b", 0), ("c", 199_995))
            )
            (shown,) = (await author.get("/hosted.json")).json()["submissions"]
            assert (shown["digest"], shown["files"]) == (answer.json()["digest"], 3)
            assert int(shown["bytes"]) == 199_998
        async with httpx.AsyncClient(timeout=LIMIT, base_url=url) as stranger:
            assert (await stranger.post("/hosted.json", content=b"{}\n")).status_code == 401
            assert (await stranger.get("/hosted")).status_code == 401


@pytest.mark.level(2)
async def test_a_bot_is_submitted_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    """An author sends the files of a folder, and reads why the bot is rejected and what it printed."""
    folder = tmp_path / "mine"
    for name, content in {"bot.py": "x", "data/big": "y" * 300_000, ".git/config": "z", "empty": ""}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    async with hosting(tmp_path) as (url, token), tab(browser, url) as page:
        await page.goto(f"/access?token={token}")
        await page.get_by_role("link", name="Submitted bots").click()
        await expect(page.get_by_label("Folder with its files")).to_be_visible()
        await check_layout(page)
        await page.get_by_label("Folder with its files").set_input_files(folder)
        await page.get_by_label("Command that starts it there").fill("python 'bot.py")
        await page.get_by_role("button", name="Submit").click()
        await expect(page.locator("#submit-said")).to_contain_text("bot.command: can't read the command")
        await page.get_by_label("Command that starts it there").fill("python bot.py")
        await page.get_by_role("button", name="Submit").click()
        await expect(page.locator("li.entry")).to_contain_text("steps failed")
        await expect(page.locator("li.entry pre")).to_contain_text("sesame")
        await check_layout(page)
        (shown,) = json.loads(await (await page.request.get("/hosted.json")).text())["submissions"]
        assert (shown["files"], int(shown["bytes"])) == (3, 300_001)
