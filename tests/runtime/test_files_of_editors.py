"""Files that people edit by hand come from any editor, and lie in folders of any legal name."""

import codecs
from collections.abc import Callable
from pathlib import Path

import pytest

from happycity import ConfigError
from happycity.errors import HappyCityError
from happycity_runtime.environment import SETTINGS_VARIABLE, read_settings_file, read_variables_from_files
from happycity_runtime.files import filled_lines, read_text, replacing
from happycity_runtime.settings import read_toml

EDITORS: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "no last newline": lambda text: text.removesuffix("\n").encode(),
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "old Mac": lambda text: text.replace("\n", "\r").encode(),
    "BOM": lambda text: codecs.BOM_UTF8 + text.encode(),
    "Notepad": lambda text: codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode(),
    "PowerShell": lambda text: codecs.BOM_UTF16_LE + text.replace("\n", "\r\n").encode("utf-16-le"),
    "UTF-16, big end first": lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    "trailing NUL": lambda text: text.encode() + b"\0",
    "end mark of DOS": lambda text: text.encode() + b"\x1a",
    "blank lines": lambda text: b"\n\n" + text.encode() + b"\n \n",
}
FOLDERS = ("a b", "it's", 'say "x"', "a#b", "50%", "%2F", "ü-日本", "-x", "a\nb", "~", "$HOME", "a;b", "*")


@pytest.fixture(params=EDITORS)
def written(request: pytest.FixtureRequest) -> Callable[[str], bytes]:
    """Return what an editor makes of a text."""
    return EDITORS[request.param]


def test_settings_of_a_folder(tmp_path: Path, written: Callable[[str], bytes]) -> None:
    file = tmp_path / "x.env"
    file.write_bytes(written("# ours\nHAPPYCITY_SERVER=grpc://h:1\nHAPPYCITY_TOKEN=hc_1_x\n"))
    environ = {SETTINGS_VARIABLE: str(file)}
    read_settings_file(environ)
    assert (environ["HAPPYCITY_SERVER"], environ["HAPPYCITY_TOKEN"]) == ("grpc://h:1", "hc_1_x")


def test_settings_in_toml(tmp_path: Path, written: Callable[[str], bytes]) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(written('# ours\ntitle = "Kõrgmängud"\nrounds = 3\n'))
    assert read_toml(file) == {"title": "Kõrgmängud", "rounds": 3}


def test_variables(tmp_path: Path, written: Callable[[str], bytes]) -> None:
    file = tmp_path / "token"
    file.write_bytes(written("hc_1_x\n"))
    environ = {"HAPPYCITY_TOKEN_FILE": str(file)}
    read_variables_from_files(environ)
    assert environ == {"HAPPYCITY_TOKEN": "hc_1_x"}


def test_lines_of_records(tmp_path: Path, written: Callable[[str], bytes]) -> None:
    file = tmp_path / "games.jsonl"
    file.write_bytes(written('{"title": "Kõrgmängud"}\n{}\n'))
    assert [text.strip() for _, text in filled_lines(str(file))] == ['{"title": "Kõrgmängud"}', "{}"]


@pytest.mark.parametrize("content", [b"\xff\xfe\xff", b"\xff", b"\x80abc", b"\xfe\xff\xd8\x00"])
def test_what_is_no_text_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x"
    file.write_bytes(content)
    reads: list[Callable[[], object]] = [
        lambda: read_toml(file),
        lambda: read_settings_file({SETTINGS_VARIABLE: str(file)}),
        lambda: read_variables_from_files({"HAPPYCITY_TOKEN_FILE": str(file)}),
    ]
    for read in reads:
        with pytest.raises(HappyCityError) as refused:
            read()
        assert str(file) in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", FOLDERS)
def test_folders_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.chdir(folder)
    with replacing(Path("x.toml")) as partial:
        partial.write_text("rounds = 3\n")
    assert read_toml(folder / "x.toml") == {"rounds": 3}
    Path("happycity.env").write_text("HAPPYCITY_SERVER=grpc://h:1\nHAPPYCITY_CA=ca.pem\n")
    environ: dict[str, str] = {}
    read_settings_file(environ)
    assert environ == {"HAPPYCITY_SERVER": "grpc://h:1", "HAPPYCITY_CA": "ca.pem"}
    assert read_text(folder / "x.toml") == "rounds = 3\n"


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match="there is no file nowhere"):
        read_settings_file({SETTINGS_VARIABLE: "nowhere"})
