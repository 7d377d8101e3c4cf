"""Writes the project of a new bot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template

from happycity import ConfigError
from happycity.match import check_bot_name
from happycity_new_bot.languages import LANGUAGES, REPOSITORY, ProjectLanguage
from happycity_runtime.installation import own_checkout

FIRST_DECISION = "first.decision"
"""A decision of a recorded game, by which the first test of a project asks its bot."""
TEMPLATE = ".in"
"""The end of names of files that have fields; others are copied as they are."""


def write_project(
    folder: Path, language: str, *, name: str, checkout: Path | None, search: bool = False
) -> list[Path]:
    """Write a project into a folder that is new or empty; return its files.

    The SDK is the one in `checkout`; without one, the release of this version in the language's registry.
    The bot is the SDK's first one, or with `search` the one that searches.

    Raises:
        ConfigError: the folder is in use or can't be written, or the name can't be a bot's.
    """
    spec = LANGUAGES[language].searching() if search else LANGUAGES[language]
    check_bot_name(name)
    if checkout is not None and not re.fullmatch(r"[\w./:+@-]+", checkout.as_posix()):
        raise ConfigError(f"--checkout: {checkout}: Makefiles can't name a folder with spaces or quotes")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"DIR: {folder} exists and is not an empty folder")
    fields = _fields(spec, language, name, checkout)
    templates = files("happycity_new_bot") / "templates"
    examples = {spec.source: spec.example, **spec.more}
    contents = {path: _sdk_file(example).read_bytes() for path, example in examples.items()}
    contents[FIRST_DECISION] = _sdk_file(f"conformance/{FIRST_DECISION}").read_bytes()
    for path, source in (*_files(templates / "common"), *_files(templates / language)):
        text = source.read_text(encoding="utf-8")
        filled = _filled(text, fields) if path.endswith(TEMPLATE) else text
        contents[path.removesuffix(TEMPLATE).replace("gitignore", ".gitignore")] = filled.encode()
    for path, content in contents.items():
        target = folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        except OSError as error:
            raise ConfigError(f"DIR: {target} can't be written: {error.strerror}") from None
    return [folder / path for path in contents]


def _sdk_file(path: str) -> Traversable:
    """Return a file below clients/, which a wheel has among its own."""
    root = own_checkout()
    return (files("happycity_new_bot") / "first" if root is None else root / "clients") / path


def package_name(name: str) -> str:
    """Return a bot's name as all package managers take it: small letters, digits and hyphens."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")
    return plain if plain[:1].isalpha() else f"bot-{plain}".rstrip("-")


def _fields(spec: ProjectLanguage, language: str, name: str, checkout: Path | None) -> dict[str, str]:
    words = {
        "package": package_name(name),
        "version": version("happycity"),
        "card_name": spec.card.title(),
        "what": "arena" if language == "bridge" else "SDK",
    }
    words |= _from_release(words["version"]) if checkout is None else _from_checkout(checkout, language)

    def filled(text: str) -> str:
        return Template(text).substitute(words)

    build = spec.build if checkout is None else (*spec.sdk_build, *spec.build)
    folders = () if checkout is None else spec.sdk_folders
    return {
        **words,
        "name": name,
        "language": spec.title,
        "source": spec.source,
        "does": spec.does,
        "bot": spec.bot,
        "bot_name": spec.bot.rpartition(" ")[2],
        "module": Path(spec.source).stem,
        "card": spec.card,
        "card_constant": spec.card.upper(),
        "image_packages": "" if checkout is None else spec.image_packages,
        "tools": spec.tools,
        "origin": filled(_OF_RELEASE if checkout is None else _OF_CHECKOUT),
        "command": filled(spec.command),
        "files": filled(", ".join(f'"{pattern}"' for pattern in spec.submitted)),
        "build": filled("\n".join(f"\t{command}" for command in build)),
        "test": filled("\n".join(f"\t{command}" for command in spec.test)),
        "requirement": filled(spec.released if checkout is None else spec.requirement),
        "copy_sdk": "\n".join(f"COPY --from=checkout {part} {checkout}/{part}" for part in folders),
        "ci_packages": _CI_PACKAGES.format(packages=spec.packages) if spec.packages else "",
    }


def _from_checkout(checkout: Path, language: str) -> dict[str, str]:
    """Return the words of a project that takes the SDK from a checkout."""
    path = checkout.as_posix()
    return {
        "checkout": checkout.as_uri(),
        "path": path,
        "sdk": f"{path}/clients/{language}",
        "engine": f"{path}/engine/python",
        "arena": f"'{path}[arena]'",
        "ci_checkout": _CI_CHECKOUT.format(checkout=path, repository=REPOSITORY),
        "build_context": f" --build-context checkout={path}",
    }


def _from_release(number: str) -> dict[str, str]:
    """Return the words of a project that takes the SDK of a version from registries."""
    return {
        "engine": f"happycity-engine=={number}",
        "arena": f"'happycity[arena]=={number}'",
        "ci_checkout": "",
        "build_context": "",
    }


def _filled(template: str, fields: Mapping[str, str]) -> str:
    """Return a template with its fields; a line that only holds an empty one is left out."""
    kept = re.sub(
        r"^\$(\w+)\n", lambda line: line[0] if fields[line[1]] else "", template, flags=re.MULTILINE
    )
    return re.sub(r"\n{3,}", "\n\n", Template(kept).substitute(fields)).rstrip() + "\n"


def _files(folder: Traversable, path: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield all files below a folder with their paths, in a fixed order."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, f"{path}{entry.name}/")
        else:
            yield f"{path}{entry.name}", entry


_CI_PACKAGES = "      - run: sudo apt-get update && sudo apt-get install -y {packages}"
_CI_CHECKOUT = """\
      - run: |  # the arena is not published yet: its checkout is put where this project looks for it
          sudo mkdir -p {checkout} && sudo chown "$USER" {checkout}
          git clone --depth 1 {repository} {checkout}"""
_OF_CHECKOUT = "The $what isn't published yet: this project takes it from the checkout in $path, by a path."
_OF_RELEASE = "The $what is that of the release $version, taken from the registry of the language."
