"""Projects of new bots: what is written, and that each builds and plays."""

import fnmatch
import json
import re
import tomllib
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.docs.test_docs import ROOT

from happycity import ConfigError
from happycity_new_bot.cli import Language, new_bot
from happycity_new_bot.languages import LANGUAGES, ProjectLanguage
from happycity_new_bot.project import package_name, write_project
from happycity_runtime.installation import own_checkout

KINDS = [(name, search) for name in LANGUAGES for search in (False, True)]
"""The languages, each without and with search."""


def spec_of(language: str, *, search: bool) -> ProjectLanguage:
    return LANGUAGES[language].searching() if search else LANGUAGES[language]


def test_the_bot_is_the_sdks_own_example(tmp_path: Path) -> None:
    """It is copied as it is, so what the documentation explains is what an author gets."""
    for language, search in KINDS:
        folder, spec = tmp_path / f"{language} {search}", spec_of(language, search=search)
        write_project(folder, language, name="ann", checkout=ROOT, search=search)
        assert (folder / spec.source).read_bytes() == (ROOT / "clients" / spec.example).read_bytes()


@pytest.mark.parametrize("checkout", [ROOT, None])
@pytest.mark.parametrize(("language", "search"), KINDS)
def test_a_project_is_complete(language: str, *, search: bool, checkout: Path | None, tmp_path: Path) -> None:
    """Each file that one names is there, and no field of a template is left; names suit package managers."""
    files = write_project(tmp_path / "My.Bot", language, name="My.Bot", checkout=checkout, search=search)
    contents = {str(path.relative_to(tmp_path / "My.Bot")): path.read_bytes() for path in files}
    assert contents.pop("first.decision") == (ROOT / "clients/conformance/first.decision").read_bytes()
    texts = {name: content.decode() for name, content in contents.items()}
    assert {"README.md", "Makefile", "Dockerfile", ".gitignore", ".github/workflows/check.yml"} <= set(texts)
    own = {name: text for name, text in texts.items() if name != spec_of(language, search=search).source}
    for name, text in own.items():
        assert not re.search(r"\$[a-z]", text.replace('"$USER"', "")), name
        assert checkout is not None or name.endswith("check.yml") or "checkout" not in text, name
    for copied in re.findall(r"^COPY (?!--)(.+) \S+$", texts["Dockerfile"], flags=re.MULTILINE):
        assert all(name == "." or fnmatch.filter(texts, name) for name in copied.split())
    for part in re.findall(r"^COPY --from=checkout (\S+)", texts["Dockerfile"], flags=re.MULTILINE):
        assert (ROOT / part).exists()
    assert (f"--build-context checkout={ROOT}" in texts["README.md"]) is (checkout is not None)
    assert "'My.Bot=" in texts["Makefile"]
    if language == "java":  # the image starts the class that there is
        assert f'"{Path(spec_of(language, search=search).source).stem}"]' in texts["Dockerfile"]


RELEASED = {
    "python": ("pyproject.toml", '"happycity=={version}"', '"happycity[engine]=={version}"'),
    "go": ("go.mod", "clients/go v{version}\n", "clients/go v{version}\n"),
    "typescript": ("package.json", '"happycity": "{version}"', '"happycity": "{version}"'),
    "rust": ("Cargo.toml", 'happycity = "{version}"', '{{ version = "{version}", features = ["engine"] }}'),
    "java": ("pom.xml", "<version>{version}</version>", "<version>{version}</version>"),
    "cpp": ("CMakeLists.txt", "find_package(happycity {version} EXACT QUIET)", "/v{version}/happycity-cpp-"),
    "bridge": ("Dockerfile", "'happycity[arena]=={version}'", "'happycity[arena,engine]=={version}'"),
}
"""How a project names the SDK's release: the file, and what it says without and with search."""


@pytest.mark.parametrize(("language", "search"), KINDS)
def test_without_a_checkout_the_sdk_is_the_release_of_this_version(
    language: str, *, search: bool, tmp_path: Path
) -> None:
    write_project(tmp_path, language, name="ann", checkout=None, search=search)
    name, *named = RELEASED[language]
    assert named[search].format(version=version("happycity")) in (tmp_path / name).read_text("utf-8")
    assert f"that of the release {version('happycity')}" in (tmp_path / "README.md").read_text("utf-8")
    workflow = (tmp_path / ".github/workflows/check.yml").read_text("utf-8")
    assert f"pip install 'happycity[arena]=={version('happycity')}'" in workflow


def test_an_image_has_all_packages_of_pythons_sdk() -> None:
    """They are built into one wheel; a folder that is missing would be missed when a bot imports it only."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["dev-mode-dirs"]
    for language in ("python", "bridge"):
        assert {folder.partition("/")[0] for folder in packages} <= {*LANGUAGES[language].sdk_folders}


def test_tools_of_typescript_are_those_of_the_sdk(tmp_path: Path) -> None:
    def tools(package: Path) -> dict[str, str]:
        found: dict[str, str] = json.loads(package.read_text("utf-8"))["devDependencies"]
        return found

    write_project(tmp_path / "ann", "typescript", name="ann", checkout=ROOT)
    own, sdk = tools(tmp_path / "ann/package.json"), tools(ROOT / "clients/typescript/package.json")
    assert own == {name: sdk[name] for name in own}


def test_maven_plug_ins_are_those_of_the_sdk(tmp_path: Path) -> None:
    """Their versions are set in one place; Maven's own defaults are too old for the SDK's Java."""

    def versions(pom: Path) -> dict[str | None, str | None]:
        plug_ins = ElementTree.parse(pom).iterfind(".//{*}plugins/{*}plugin")
        return {plug_in.findtext("{*}artifactId"): plug_in.findtext("{*}version") for plug_in in plug_ins}

    write_project(tmp_path / "ann", "java", name="ann", checkout=ROOT)
    own, sdk = versions(tmp_path / "ann" / "pom.xml"), versions(ROOT / "clients" / "java" / "pom.xml")
    assert own == {name: sdk[name] for name in own}
    (junit,) = re.findall(r"<junit.version>(.*)<", (ROOT / "clients/java/pom.xml").read_text("utf-8"))
    assert f"<version>{junit}</version>\n      <scope>test" in (tmp_path / "ann/pom.xml").read_text("utf-8")


def test_names_of_packages_suit_all_languages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Small letters, digits and hyphens, a letter first.
    for name, package in [("ann", "ann"), ("My.Bot_2", "my-bot-2"), ("2nd", "bot-2nd"), ("+", "bot")]:
        assert package_name(name) == package

    # The bot is called like the folder, and the output says how to go on.
    new_bot(tmp_path / "ann", language=Language("go"))
    assert own_checkout() == ROOT
    assert str(ROOT) in (tmp_path / "ann" / "go.mod").read_text()
    assert f"cd {tmp_path / 'ann'} && make play" in capsys.readouterr().out


def test_bad_input_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path, tmp_path / "file"):
        with pytest.raises(ConfigError, match="exists and is not an empty folder"):
            new_bot(folder, language=Language("go"))
    with pytest.raises(ConfigError, match="bot name 'my bot'"):
        new_bot(tmp_path / "my bot", language=Language("go"))
    with pytest.raises(ConfigError, match="is not a checkout of the arena"):
        new_bot(tmp_path / "ann", language=Language("go"), checkout=tmp_path)
    with pytest.raises(ConfigError, match="spaces or quotes"):
        write_project(tmp_path / "ann", "go", name="ann", checkout=tmp_path / "a b")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
