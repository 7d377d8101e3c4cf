"""The container image, built of the real Dockerfile and run as an engine runs it."""

import json
import os
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import trustme
from tests.programs import run
from tests.release.container import Host, Image
from tests.tournament.storage.postgres import Cluster
from tests.waiting import LIMIT

ROOT = Path(__file__).parents[2]
USER = 10001
GAMES = 40
BOTS = ("random", "greedy", "planner", "rollout")


@pytest.fixture
def host(image: Image, tmp_path: Path) -> Host:
    """Return where a container has a volume and nothing else; it need not be reached by TLS."""
    return _host(image, tmp_path, HAPPYCITY_SERVE_LISTEN="127.0.0.1:0", HAPPYCITY_SERVE_INSECURE="1")


def _host(image: Image, folder: Path, **environment: str) -> Host:
    volumes = {"/data": folder / "data", "/run/secrets": folder / "secrets"}
    for each in volumes.values():
        each.mkdir()
        os.chown(each, USER, USER)
    return Host(image=image, volumes=volumes, environment=environment)


def _write_secrets(host: Host, **secrets: bytes) -> dict[str, str]:
    """Write secrets as an engine does, for the container's user alone; return their paths there."""
    for name, content in secrets.items():
        path = host.volumes["/run/secrets"] / name
        path.write_bytes(content)
        path.chmod(0o400)
        os.chown(path, USER, USER)
    return {name: f"/run/secrets/{name}" for name in secrets}


def test_image_says_what_it_is(image: Image) -> None:
    """Labels have version, licences and source; the user is a number, by which engines see it isn't root."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    labels = image.config["Labels"]
    assert labels["org.opencontainers.image.version"] == project["version"]
    assert labels["org.opencontainers.image.licenses"] == project["license"]
    assert labels["org.opencontainers.image.source"].endswith("/happycity-arena/happycity")
    assert image.config["User"] == f"{USER}:{USER}"
    assert set(image.config["Volumes"]) == {"/data"}


def test_container_has_no_rights_and_no_build_tools(host: Host) -> None:
    """Only the volume can be written to; code is compiled; compiler, sources and uv stayed behind."""
    shell = ("sh", "-c")
    assert "Read-only file system" in host.run("touch /opt/x", entry=shell).stderr
    assert host.run("touch /data/x", entry=shell).returncode == 0
    assert "compiled" in host.run("--version").stdout
    assert host.run("command -v gcc || command -v uv || ls -d /src", entry=shell).stdout == ""


def test_image_serves_from_its_volume(host: Host) -> None:
    """Games are kept in the volume by default; it is healthy, and stops at its signal.

    It waits for nothing, or the time that it would give to running games would exceed the limit of tests.
    """
    host = replace(host, environment={**host.environment, "HAPPYCITY_SERVE_GRACE": "3600"})
    with host.serving() as container:
        address = container.addresses["listening"]
        assert container.status("Uid") == [str(USER)] * 4
        assert container.status("CapEff") == container.status("CapBnd") == ["0000000000000000"]
        assert host.healthy(address)
        assert container.stop() == 0
    assert (host.volumes["/data"] / "happycity.sqlite").stat().st_uid == USER
    assert not host.healthy(address)


def test_tournament_on_the_image(image: Image, tmp_path: Path, cluster: Cluster) -> None:
    """Bots play over TLS with tokens; the server's secrets are files, its games go to PostgreSQL."""
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    url = cluster.new_database()
    host = _host(image, tmp_path)
    secrets = _write_secrets(
        host,
        ca=authority.cert_pem.bytes(),
        cert=certificate.cert_chain_pems[0].bytes(),
        key=certificate.private_key_pem.bytes(),
        store=url.replace(str(cluster.folder), "/run/postgresql").encode() + b"\n",
    )
    cluster.folder.chmod(0o711)  # its socket is for the container's user too
    host = replace(
        host,
        volumes={**host.volumes, "/run/postgresql": cluster.folder},
        environment={
            "HAPPYCITY_SERVE_LISTEN": "0.0.0.0:0",
            "HAPPYCITY_SERVE_TLS_CERT": secrets["cert"],
            "HAPPYCITY_SERVE_TLS_KEY": secrets["key"],
            "HAPPYCITY_SERVE_STORE_FILE": secrets["store"],
            "HAPPYCITY_SERVE_METRICS": "127.0.0.1:0",
            "HAPPYCITY_SERVE_WEB": "127.0.0.1:0",
            "HAPPYCITY_CA": secrets["ca"],
            "HAPPYCITY_SERVER_NAME": "localhost",
        },
    )
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    (tmp_path / "organiser").write_text(_create_token(host, "organiser", "olga"))
    bots = ",".join(f"{name}={_create_token(host, 'bot', name).strip()}" for name in BOTS)
    (tmp_path / "bots").write_text(bots)
    variables = {
        "HAPPYCITY_CA": str(tmp_path / "ca.pem"),
        "HAPPYCITY_TOKEN_FILE": str(tmp_path / "organiser"),
        "HAPPYCITY_TOKENS_FILE": str(tmp_path / "bots"),
    }

    with host.serving() as container:
        address = f"grpcs://127.0.0.1:{container.addresses['listening'].rpartition(':')[2]}"
        assert host.healthy(address)
        arguments = ("run", "--server", address, "--seed", "1", "--rounds", str(GAMES // 4))
        table = _tournament(*arguments, folder=tmp_path, environment=variables)
        sys.stdout.write(table)  # for `pytest -s`
        assert f"{GAMES} of {GAMES} games" in table
        with urllib.request.urlopen(
            f"http://{container.addresses['metrics']}/metrics", timeout=LIMIT
        ) as response:
            assert f"happycity_matches_finished_total {GAMES}.0" in response.read().decode()
        with pytest.raises(urllib.error.HTTPError, match="401"):  # pages show nothing without a token, either
            urllib.request.urlopen(container.addresses["web"], timeout=LIMIT)
        assert container.stop() == 0
    (kept,) = json.loads(_tournament("list", url, "--json", folder=tmp_path, environment={}))
    assert (kept["state"], kept["games"]) == ("finished", GAMES)
    assert not list(host.volumes["/data"].glob("*.sqlite"))


def _create_token(host: Host, role: str, name: str) -> str:
    created = host.run("token", "create", "--role", role, "--name", name)
    assert created.stdout.startswith("hc_"), created.stderr
    return created.stdout


def _tournament(*arguments: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a command of this checkout in a folder; return what it prints."""
    environment = {**os.environ, **environment}
    done = run(*arguments, module="happycity_tournament", cwd=folder, env=environment, check=True)
    return done.stdout
