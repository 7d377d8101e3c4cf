"""The links of invitations, and the file of settings that bots and commands of a guest read."""

from pathlib import Path

import pytest
import trustme

from happycity.errors import ConfigError
from happycity_runtime.environment import read_settings_file
from happycity_runtime.guests import Link, settings_text
from happycity_runtime.transport import Target

SECRET = "hci_00000000_hidden"


@pytest.mark.parametrize("server", ["grpcs://arena.example:443", "grpc://[::1]:5", "unix:/tmp/arena.sock"])
def test_a_link_is_read_as_it_was_written(server: str) -> None:
    ca = trustme.CA().cert_pem.bytes().decode()
    for certificate, page in (("", ""), (ca, ""), (ca, "https://arena.example:8080")):
        link = Link(Target.parse(server), SECRET, certificate, page)
        assert str(link).startswith(f"{page}/join#" if page else server)
        read = Link.parse(f" {link}\n")
        assert (read.server, read.secret, read.page) == (link.server, SECRET, page)
        assert read.ca.split() == certificate.split()


def test_a_link_has_the_first_certificate_of_a_file(tmp_path: Path) -> None:
    """Texts around it and further certificates are left out; without TLS there is none."""
    first, second = (trustme.CA().cert_pem.bytes().decode() for _ in range(2))
    file = tmp_path / "ca.pem"
    file.write_text(f"Arena\n{first}{second}")
    for server, ca in (("grpcs://a:1", first), ("grpc://a:1", "")):
        made = Link.to(server, SECRET, ca=file, setting="--server")
        assert Link.parse(str(made)).ca.split() == ca.split()


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("grpcs://arena.example:443", "it is not the link of an invitation"),
        ("grpcs://arena.example:443/join/", "it is not the link of an invitation"),
        (f"https://arena.example/join/{SECRET}", "is not an address such as"),
        (f"grpcs://arena.example:443/join/{SECRET}.MIIB", "its end is not a certificate"),
        (f"grpcs://arena.example:443/join/{SECRET}.a", "its end is not a certificate"),
    ],
)
def test_a_wrong_link_is_refused_without_its_secret(link: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=r"^LINK: ") as refused:
        Link.parse(link)
    assert problem in str(refused.value)
    assert "hidden" not in str(refused.value)


def test_the_file_fills_in_what_the_environment_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its paths are relative to it; a variable of the environment wins. `settings.jsonl` has more cases."""
    (tmp_path / "happycity.env").write_text(settings_text("grpcs://a:1", "ca.pem", {"alice": "hc_1_x"}))
    monkeypatch.chdir(tmp_path)
    environ = {"HAPPYCITY_TOKEN": "own"}
    read_settings_file(environ)
    assert environ == {"HAPPYCITY_SERVER": "grpcs://a:1", "HAPPYCITY_CA": "ca.pem", "HAPPYCITY_TOKEN": "own"}
    monkeypatch.chdir("/")
    with (tmp_path / "happycity.env").open("a") as file:
        file.write("HAPPYCITY_SERVE_TOKENS=tokens.json\n")
    named = {"HAPPYCITY_ENV": str(tmp_path / "happycity.env")}
    read_settings_file(named)
    assert named["HAPPYCITY_CA"] == str(tmp_path / "ca.pem")
    assert named["HAPPYCITY_SERVE_TOKENS"] == str(tmp_path / "tokens.json")


def test_a_value_that_no_environment_can_hold_is_refused(tmp_path: Path) -> None:
    (tmp_path / "happycity.env").write_bytes(b"HAPPYCITY_NAME=a\0b\n")
    with pytest.raises(ConfigError, match=r"happycity\.env:1: it is not HAPPYCITY_NAME=VALUE"):
        read_settings_file({"HAPPYCITY_ENV": str(tmp_path / "happycity.env")})
