"""Called by mkdocs: brings the pages outside docs/ into the site, and makes links and languages fit it.

The documentation is written for readers of the repository. There a page links to files by their place, and
shows one language after the other in parts that open. On the site, pages outside docs/ have places of their
own, and languages are tabs.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tools import ROOT
from tools.docs.arrays import arrays_page
from tools.docs.cards import cards_page
from tools.docs.commands import commands_page
from tools.docs.contract import contract_page

SDKS = ("python", "go", "typescript", "rust", "java", "cpp")
PLACES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    **{f"clients/{name}/README.md": f"sdks/{name}.md" for name in SDKS},
}
"""Pages outside docs/, and where they are on the site."""
ICON = "viewer/happycity_viewer/static/icon.svg"
"""The arena's, which the site has too."""
CONTRACT = "reference/contract.md"
GENERATED: dict[str, Callable[[], str]] = {
    CONTRACT: partial(contract_page, ROOT),
    "reference/commands.md": commands_page,
    "reference/cards.md": cards_page,
    "reference/arrays.md": arrays_page,
}
"""Pages that are made when the site is built, with the functions that make them."""
SHOWN_BY = {
    "proto/happycity/": CONTRACT,
    "game/happycity/rules/data": "reference/cards.md",
    "clients/envs/happycity_envs/selfplay": "reference/arrays.md",
    "server/happycity_server/config.py": "reference/commands.md",
}
"""Sources to which pages link in the repository, and the pages that show them on the site."""

_FENCED = re.compile(r"^(?P<fence>`{3,}).*?^(?P=fence)$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!\!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_PICTURE = re.compile(r"!\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_INCLUDE = re.compile(r"^<!-- include (?P<path>\S+) -->$", re.MULTILINE)
_PART = re.compile(
    r"^<details(?: open)?>\n<summary>(?P<title>[^\n]*)</summary>\n(?P<body>.*?)^</details>\n",
    re.DOTALL | re.MULTILINE,
)


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the pages that aren't in docs/, and the arena's icon."""
    for source, place in PLACES.items():
        content = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=content))
    for place, make in GENERATED.items():
        files.append(File.generated(config, place, content=make()))
    files.append(File.generated(config, "site/icon.svg", abs_src_path=str(ROOT / ICON)))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Return a page as the site has it."""
    place = page.file.src_uri
    source = next((name for name, there in PLACES.items() if there == place), f"docs/{place}")
    text = in_prose(lambda prose: relinked(prose, source, place, files), markdown)
    return with_tabs(with_programs(text))


def with_programs(text: str) -> str:
    """Show the programs that a page links to, where it says `<!-- include PATH -->`."""

    def program(match: re.Match[str]) -> str:
        path = ROOT / match["path"]
        return f"```{path.suffix.removeprefix('.')}\n{path.read_text(encoding='utf-8')}```"

    return _INCLUDE.sub(program, text)


def in_prose(change: Any, text: str) -> str:
    """Change what is outside of fenced code."""
    result, end = [], 0
    for block in _FENCED.finditer(text):
        result += [change(text[end : block.start()]), block.group()]
        end = block.end()
    return "".join([*result, change(text[end:])])


def relinked(text: str, source: str, place: str, files: Files) -> str:
    """Let links lead to the places that files have on the site.

    Args:
        text: A part of a page.
        source: Where the page is in the repository.
        place: Where it is on the site.
        files: All files of the site.
    """

    def moved(target: str) -> str | None:
        """Return the address on the site of what a link leads to, None if the site hasn't got it."""
        if re.match(r"[a-z]+:|#", target):
            return target
        path, hash_, anchor = target.partition("#")
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        shown_by = (page for source, page in SHOWN_BY.items() if wanted.startswith(source))
        there = next(shown_by, PLACES.get(wanted) or wanted.removeprefix("docs/"))
        if files.get_file_from_path(there) is None or (wanted == there and wanted not in PLACES):
            return None
        return posixpath.relpath(there, posixpath.dirname(place) or ".") + hash_ + anchor

    def link(match: re.Match[str]) -> str:
        target = moved(match["target"])
        return match["text"] if target is None else f"[{match['text']}]({target})"

    def picture(match: re.Match[str]) -> str:
        return f"![{match['text']}]({moved(match['target']) or match['target']})"

    return _PICTURE.sub(picture, _LINK.sub(link, text))


def with_tabs(text: str) -> str:
    """Make tabs of the parts that open, which show the same in several languages."""

    def tab(match: re.Match[str]) -> str:
        body = "".join(
            f"    {line}" if line.strip() else line for line in match["body"].splitlines(keepends=True)
        )
        return f'=== "{match["title"]}"\n{body}'

    return _PART.sub(tab, text)
