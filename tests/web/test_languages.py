"""Pages in the languages of the rule books, and whether anything on them stays English."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from babel.messages.catalog import Catalog
from playwright.async_api import Browser, Page, expect
from tests.waiting import LIMIT
from tests.web.conftest import Site
from tests.web.ladders import LadderSite
from tests.web.table import OVERFLOWING
from tools.docs.texts import template

from happycity.text.words import PHASES
from happycity_viewer import languages
from happycity_viewer.languages import LANGUAGES, language

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROOT = Path(__file__).parents[2]
PSEUDO = "fr"
"""A language that the pages don't have; in the tests its texts are the English ones in brackets."""

_OWN = (
    "bdi, code, kbd, time, script, style, template, .brand, .languages, .metrics,"
    " .bot-info, .chart svg, .places .place, select[name=bot] option, title"
)
"""What belongs to bots, or reads the same in every language."""

_SAID = """() => {
  const texts = [];
  const own = (element) => element.closest(OWN) || element.closest("[lang]") !== document.documentElement;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!own(walker.currentNode.parentElement)) texts.push(walker.currentNode.textContent);
  }
  for (const element of document.body.querySelectorAll("[title], [aria-label], [placeholder], [alt]")) {
    if (own(element)) continue;
    for (const name of ["title", "aria-label", "placeholder", "alt"]) {
      texts.push(element.getAttribute(name) ?? "");
    }
  }
  return texts;
}""".replace("OWN", f'"{_OWN}"')

_BRACKETED = re.compile(r"⟦[^⟦⟧]*⟧")


def _pseudo_texts(code: str) -> Catalog:
    made = Catalog(locale=code)
    for message in template():
        if message.id:
            forms = (message.id,) if isinstance(message.id, str) else message.id
            said = tuple(f"⟦{form}⟧" for form in forms)
            made.add(
                message.id,
                said[0] if isinstance(message.id, str) else said,
                locations=message.locations,
                context=message.context,
            )
    return made


@pytest.fixture
def pseudo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a language whose texts differ from English ones that nobody translates."""
    monkeypatch.setattr(languages, "catalogue", _pseudo_texts)
    monkeypatch.setitem(LANGUAGES, PSEUDO, "Pseudo")
    yield
    language.cache_clear()


def _unbracketed(texts: list[str]) -> set[str]:
    """Return the words that stand outside of brackets, which may hold elements and so several texts."""
    rest = "\n".join(texts)
    while _BRACKETED.search(rest):
        rest = _BRACKETED.sub(" ", rest)
    return {word for word in re.findall(r"\w+", rest) if word.isalpha()}


@pytest.mark.level(2)
@pytest.mark.usefixtures("pseudo")
async def test_nothing_stays_english(page: Page, site: Site, tournament: int, expert_match: int) -> None:
    """All that pages say, before and after their scripts have drawn, goes through translation."""
    own = {"Happy", "City", "arena", "anna", "bob", "carl"}
    for path in (
        "/",
        f"/tournaments/{tournament}",
        f"/tournaments/{tournament}/bots/anna",
        "/tournaments",
        "/bots/anna",
        f"/matches/{expert_match}?ply=40",
        f"/matches/{expert_match}",
    ):
        await page.goto(f"{path}{'&' if '?' in path else '?'}lang={PSEUDO}")
        texts = await page.evaluate(_SAID)
        assert any("⟦" in text for text in texts)
        assert _unbracketed(texts) <= {*own, "Elo", "SDK"}, path
        if path.startswith("/matches"):
            for key in ("Home", "ArrowRight", "ArrowRight", "End", "ArrowLeft"):
                await page.keyboard.press(key)
                assert _unbracketed(await page.evaluate(_SAID)) <= own


@pytest.mark.level(2)
@pytest.mark.usefixtures("pseudo")
async def test_nothing_of_the_ladder_stays_english(browser: Browser, ladder: LadderSite) -> None:
    """All that the pages of the ladder say goes through translation."""
    for who, paths in {
        "olga": ("/ladder", "/ladder/bots/anna", "/ladder/deals", "/ladder/seasons", "/ladder/flags"),
        "anna": ("/ladder?season=1", "/ladder/challenges", "/ladder/challenges?state=expired"),
    }.items():
        async with ladder.browsing(browser, who) as context:
            page = await context.new_page()
            for path in paths:
                await page.goto(f"{path}{'&' if '?' in path else '?'}lang={PSEUDO}")
                texts = await page.evaluate(_SAID)
                assert _unbracketed(texts) <= {"Happy", "City", "arena", "ladder", "Elo", "SDK"}, path


@pytest.mark.level(2)
@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
async def test_pages_speak_the_language_and_fit(
    code: str, page: Page, tournament: int, expert_match: int
) -> None:
    await page.set_viewport_size({"width": 320, "height": 800})
    heading = language(code).texts.gettext("Standings")
    for path in ("/", f"/tournaments/{tournament}", f"/matches/{expert_match}"):
        await page.goto(f"{path}?lang={code}")
        await expect(page.locator("html")).to_have_attribute("lang", code)
        await expect(page.locator(".languages [aria-current]")).to_have_text(LANGUAGES[code])
        assert not await page.evaluate(OVERFLOWING), path
        if "tournaments" in path:
            await expect(page.locator("#h-standings")).to_have_text(heading)


MOMENTS = """([zone, end]) => {
  const style = { dateStyle: "medium", timeStyle: "short", timeZone: zone };
  const format = new Intl.DateTimeFormat(document.documentElement.lang, style);
  const said = (one) => format.format(new Date(one.dateTime)) + end;
  return [...document.querySelectorAll("time")].map((one) => [one.textContent, said(one)]);
}"""
"""What moments are shown as, and what they should be."""


@pytest.mark.parametrize(("zone", "end"), [("America/New_York", ""), ("UTC", " UTC")])
async def test_moments_have_one_style(
    zone: str, end: str, browser: Browser, ladder: LadderSite, tournament: int, site: Site
) -> None:
    """Scripts write them in the reader's time zone, and the server, for who has none, in UTC."""
    async with ladder.browsing(browser, "olga") as signed_in:
        cookies = await signed_in.cookies()
    seen = set[str]()
    async with await browser.new_context(
        locale="pl-PL", timezone_id="America/New_York", java_script_enabled=not end
    ) as context:
        await context.add_cookies(cookies)  # type: ignore[arg-type]  # as they were given
        page = await context.new_page()
        pages = [
            ladder.url + path for path in ("/", "/ladder", "/ladder/seasons", "/ladder/deals", "/access")
        ]
        pages += [
            f"{ladder.url}/ladder/bots/anna",
            f"{site.url}/tournaments/{tournament}",
            f"{site.url}/matches",
        ]
        for address in pages:
            await page.goto(address)
            found = await page.evaluate(MOMENTS, [zone, end])
            for shown, expected in found:
                assert shown.replace("\u202f", " ") == expected.replace("\u202f", " "), address
                seen.add(address)
    assert len(seen) > 5


async def test_one_function_of_each_side_writes_moments() -> None:
    """Dates in a second style would come from a second place."""
    for form, places in {
        r"strftime|format_date|format_skeleton|isoformat": {"languages.py", "render.py"},
        r"Intl\.DateTimeFormat|toLocale(Date|Time)String|dateStyle": {"words.js"},
    }.items():
        code = [path for root in ("viewer", "web") for path in (ROOT / root).rglob("*.[pj][ys]")]
        assert {path.name for path in code if re.search(form, path.read_text("utf-8"))} == places


async def test_chosen_language_stays(page: Page, family_match: int) -> None:
    """The menu of languages keeps the position that one looks at, and other pages keep the language."""
    await page.goto(f"/matches/{family_match}?ply=7")
    await page.keyboard.press("ArrowRight")
    await page.get_by_role("link", name="Polski").click()
    await expect(page.locator("html")).to_have_attribute("lang", "pl")
    await expect(page.locator("#board")).to_have_attribute("data-ply", "8")
    await page.goto("/")
    await expect(page.locator("#h-tournaments")).to_have_text("Turnieje")


async def test_browser_says_which_language_it_prefers(browser: Browser, site: Site) -> None:
    """Without a choice, a page is in the language that the browser asks for, and so is what follows live."""
    async with await browser.new_context(base_url=site.url, locale="it-IT") as context:
        page = await context.new_page()
        await page.goto("/")
        await expect(page.locator("#h-bots")).to_contain_text("Bot")
        await expect(page.locator("html")).to_have_attribute("lang", "it")


async def test_script_chooses_the_plurals_of_the_server(page: Page) -> None:
    """Scripts and templates say the same for every number."""
    for code in LANGUAGES:
        texts = language(code)
        forms = await page.evaluate(
            """(lang) => Array.from({length: 130}, (_, n) => new Intl.PluralRules(lang).select(n))""", code
        )
        of_forms: dict[str, set[str]] = {}
        for number, form in enumerate(forms):
            of_forms.setdefault(form, set()).add(
                texts.texts.ngettext("%(num)s game", "%(num)s games", number)
            )
        assert all(len(said) == 1 for said in of_forms.values()), code
        assert await page.evaluate("(lang) => (1.5).toLocaleString(lang)", code) == texts.decimals(1.5, 1)


@pytest.mark.level(2)
async def test_json_stays_english(site: Site, family_match: int) -> None:
    async with httpx.AsyncClient(
        timeout=LIMIT, base_url=site.url, headers={"accept-language": "uk"}
    ) as client:
        game = (await client.get(f"/matches/{family_match}.json")).json()
        page = await client.get(f"/matches/{family_match}?ply=0")
    assert game["plies"][0]["waits"] in PHASES.values()
    assert '<html lang="uk"' in page.text

    # A language that the pages don't have is named in the refusal, with those that they have.
    refused = await site.client.get("/?lang=xx")
    assert refused.status_code == 400
    assert "lang: &#39;xx&#39; is not one of en, et, it, pl, uk" in refused.text
    assert "set-cookie" not in refused.headers
