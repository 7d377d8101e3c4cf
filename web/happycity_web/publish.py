"""The command `happycity publish-site`: what the public may see of a server, as files that need no server.

It asks a running server as any visitor would, so it can't publish more than the public may see.
"""

from __future__ import annotations

import hashlib
import os.path
import re
import shutil
import time
from collections import deque
from collections.abc import Callable
from html import unescape
from importlib.resources import as_file, files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from urllib.error import HTTPError
from urllib.parse import parse_qs, urljoin, urlsplit
from urllib.request import ProxyHandler, build_opener

import typer

from happycity import ConfigError
from happycity.text.words import plural
from happycity_runtime.commands import remark
from happycity_runtime.transport import proxy_for

MARK = Path("static", "happycity-site")
"""The file by which a folder is known as a snapshot."""
TRIES = 60
"""How often a page is asked for, once a second, while the server has too many requests."""

_PAGE = re.compile(
    r"/|/acts|/bots/[^/]+|/ladder|/ladder/(seasons|deals|bots/[^/]+)|/tournaments(/\d+(/bots/[^/]+)?)?"
)
_GAME = re.compile(r"/matches/(\d+)(/record\.json)?")
_CHOICES = {"board", "page", "season"}, {"board", "page", "bot"}
"""What the addresses of published pages may ask for, and of those of a bot; more is not published."""
_LINK = re.compile(r' (href|src)="([/?][^"]*)"')


class SiteSnapshot:
    """Pages of a server that are found by their links, from the lobby on."""

    def __init__(self, address: str, *, games: int) -> None:
        """Take the pages of a server with up to `games` replays; ConfigError if it is not a public one."""
        self._address = address.rstrip("/")
        proxy = proxy_for(address)
        self._open = build_opener(ProxyHandler({} if proxy is None else {"https": proxy})).open
        self._most_games = games
        self.games: set[str] = set()
        """The ids of the games that were found."""
        self.files = {"/": "index.html"}
        """By page, relative to the snapshot."""
        self._waiting = deque(self.files)
        try:
            self._get("/access")
        except HTTPError as error:
            if error.code == 401:
                return
        raise ConfigError(f"--web: {address} is not a server that is run with --public")

    def write(self, folder: Path, note: Callable[[str], None]) -> None:
        """Write all pages into a new folder; `note` gets a line about how far it is."""
        for package in ("happycity_web", "happycity_viewer"):
            with as_file(files(package) / "static") as static:
                shutil.copytree(static, folder / "static", dirs_exist_ok=True)
        (folder / MARK).touch()
        while self._waiting:
            page = self._waiting.popleft()
            note(f"{len(self.files) - len(self._waiting)} of {len(self.files)} pages; Ctrl-C stops it")
            content = self._get(f"{page}{'&' if '?' in page else '?'}snapshot=1")
            if not page.endswith(".json"):
                content = self._linked(content.decode(), page).encode()
            path = folder / self.files[page]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def _get(self, path: str) -> bytes:
        """Return what the server answers; HTTPError if it refuses, ConfigError if it doesn't answer."""
        for _ in range(TRIES):
            try:
                with self._open(self._address + path) as answer:
                    content: bytes = answer.read()
                    return content
            except HTTPError as error:
                if error.code != 429:
                    raise
                time.sleep(1.0)
            except (OSError, ValueError) as error:
                raise ConfigError(f"--web: {self._address} can't be read: {error}") from None
        raise ConfigError(f"--web: {self._address} has too many requests; try again later")

    def _linked(self, html: str, page: str) -> str:
        """Return a page with relative links; those to what is not published lead nowhere."""

        def relative(link: re.Match[str]) -> str:
            url = unescape(link[2])
            if url.startswith("?") and _GAME.fullmatch(page):
                return link[0]  # a position, which the viewer finds by itself
            file = url[1:] if url.startswith("/static/") else self._file_of(urljoin(page, url))
            folder = os.path.dirname(self.files[page]) or "."
            return "" if file is None else f' {link[1]}="{os.path.relpath(file, folder)}"'

        return _LINK.sub(relative, html)

    def _file_of(self, url: str) -> str | None:
        """Return the file of the page to which a link leads; None if that is not published."""
        path, query = urlsplit(url).path, urlsplit(url).query
        page = f"{path}?{query}".removesuffix("?")
        if game := _GAME.fullmatch(path):
            page = path
            if game[1] not in self.games and len(self.games) >= self._most_games:
                return None
            self.games.add(game[1])
        elif not _PAGE.fullmatch(path) or parse_qs(query).keys() - _CHOICES["/bots/" in path]:
            return None
        if page not in self.files:
            self.files[page] = page[1:] if page.endswith("/record.json") else _file_name(page)
            self._waiting.append(page)
        return self.files[page]


def _file_name(page: str) -> str:
    """Return the file of a page: by its path, unless file systems may not take that, or not tell it apart."""
    is_plain = re.fullmatch(r"[a-z0-9_/-]{1,120}", page)
    return f"{page[1:] if is_plain else hashlib.sha256(page.encode()).hexdigest()[:16]}.html"


def _recover(target: Path) -> Path:
    """Undo what is left of a replacement that was interrupted; return where the old snapshot goes."""
    old = target.with_name(f".{target.name}.old")
    if (old / MARK).exists() and target.exists():
        shutil.rmtree(old)
    elif (old / MARK).exists():
        old.rename(target)
    return old


def publish_site(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the snapshot.")],
    *,
    web: Annotated[
        str, typer.Option("--web", metavar="URL", help="Address of the server's pages.")
    ] = "http://127.0.0.1:8080",
    games: Annotated[int, typer.Option("--games", min=0, metavar="N", help="Replays at most.")] = 100,
) -> None:
    """Write the results of a server as pages that need none.

    These are leaderboards, ended tournaments, bots, and replays.

    The server is run with --public. A snapshot in the folder is replaced when the new one is complete. Any
    file server can serve it: python -m http.server --directory FOLDER
    """
    from rich.console import Console  # noqa: PLC0415 - the help does without

    target = folder.resolve()
    old = _recover(target)
    if target.exists() and not (target / MARK).exists() and (target.is_file() or any(target.iterdir())):
        raise ConfigError(f"{folder}: it is not a snapshot of this command; name another folder")
    snapshot = SiteSnapshot(web, games=games)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as temporary,
            Console(stderr=True).status("") as status,
        ):
            snapshot.write(new := Path(temporary, "new"), status.update)
            if (target / MARK).exists():
                target.rename(old)
            new.rename(target)
    except HTTPError as error:
        raise ConfigError(f"--web: {error.url} was refused with status {error.code}; try again") from None
    except OSError as error:
        raise ConfigError(f"{folder}: it can't be written: {error.strerror or error}") from None
    finally:
        _recover(target)
    pages, replays = len(snapshot.files), len(snapshot.games)
    remark(f"{folder}: {plural(pages, 'page')}, {plural(replays, 'replay')}")
