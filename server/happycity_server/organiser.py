"""The commands of who opens a competition: `happycity cert` and `happycity competition`."""

from __future__ import annotations

# ruff: noqa: PLC0415 - the help of a command must not wait for what only the command needs
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from happycity.errors import ConfigError
from happycity_runtime.commands import Commands, write_example
from happycity_runtime.environment import SETTINGS_FILE
from happycity_runtime.files import replacing
from happycity_runtime.guests import settings_text
from happycity_runtime.tokens import Role, add_tokens, new_token
from happycity_runtime.transport import Target, join_host_port

CA_FILE, CERT_FILE, KEY_FILE = "ca.pem", "cert.pem", "key.pem"
SERVER_FILE, TOURNAMENT_FILE, LADDER_FILE = "server.toml", "tournament.toml", "ladder.toml"
TOKENS_FILE, README = "tokens.json", "README.md"
_ORGANISER = "organiser"

cert = Commands("Make the certificate of a server that other machines reach.")
competition = Commands("Open a competition of one's own.")

Hosts = Annotated[
    list[str],
    typer.Option(
        "--host",
        metavar="HOST",
        help="A name or address by which guests reach the server; may be repeated.",
        show_default=False,
    ),
]
Days = Annotated[
    int, typer.Option("--days", min=1, max=3650, help="Days for which the certificate is valid.")
]


@cert.command("create")
def create_certificate(
    *,
    host: Hosts,
    days: Days = 365,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the files are written.")] = Path(),
) -> None:
    """Write a certificate that is valid for some names and addresses, and its key.

    The server gets cert.pem and key.pem, which is secret. Guests trust the server by ca.pem: it is part of
    every invitation, or HAPPYCITY_CA names it. The certificate is also valid for localhost.
    """
    _write_certificates(out, host, now=datetime.now(UTC), days=days)
    typer.echo(f"wrote {', '.join(str(out / name) for name in (CA_FILE, CERT_FILE, KEY_FILE))}")


def _write_certificates(folder: Path, hosts: Sequence[str], *, now: datetime, days: int) -> None:
    """Make a certificate and write its files into a folder, none of which may be there already."""
    from happycity_server.process.certificates import make_certificates

    made = make_certificates(hosts, now=now, days=days)
    files = dict(zip((CA_FILE, CERT_FILE, KEY_FILE), made, strict=True))
    _refuse_overwriting(folder, files)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with replacing(folder / name, private=name == KEY_FILE) as partial:
            partial.write_text(text, encoding="utf-8")


def _refuse_overwriting(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        if (folder / name).exists():
            raise ConfigError(f"{folder / name} is there already; remove it, or name another folder")


@competition.command("init")
def init_competition(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder to make.")],
    *,
    host: Hosts,
    port: Annotated[
        int, typer.Option(min=1, max=65535, metavar="N", help="Where the server listens.")
    ] = 50051,
    web_port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, metavar="N", help="Also serve pages there, where invitations open."),
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="Keep a ladder, in which all bots play without an end.")
    ] = False,
    days: Days = 365,
) -> None:
    """Write what a small competition needs: settings, certificate, your token, and a README for guests.

    The first --host is the address in invitations. Commands that are started in the folder reach its server
    as the organiser, by the file happycity.env.
    """
    names = (SERVER_FILE, README, SETTINGS_FILE, TOKENS_FILE, LADDER_FILE if ladder else TOURNAMENT_FILE)
    _refuse_overwriting(folder, names)
    now, server = datetime.now(UTC), Target(join_host_port(host[0], port), tls=True)
    _write_certificates(folder, host, now=now, days=days)
    clear, token = new_token(Role.ORGANISER, _ORGANISER, created=now)
    add_tokens(folder / TOKENS_FILE, [token])
    own = {"HAPPYCITY_SERVE_TOKENS": TOKENS_FILE}
    kept = f'ladder = "{LADDER_FILE}"\n' if ladder else ""
    if web_port is not None:
        own["HAPPYCITY_WEB"] = f"https://{join_host_port(host[0], web_port)}"
        kept += f'web = "0.0.0.0:{web_port}"\nweb_name = "{host[0]}"\n'
    with replacing(folder / SETTINGS_FILE, private=True) as partial:
        partial.write_text(settings_text(str(server), CA_FILE, {_ORGANISER: clear}, **own), encoding="utf-8")
    house = "greedy,random"
    if ladder:
        from happycity_ladder.ladder_config import DEFAULT_HOUSE, example

        house = DEFAULT_HOUSE
        write_example(folder / LADDER_FILE, example())
    else:
        write_example(folder / TOURNAMENT_FILE, _template(TOURNAMENT_FILE))
    write_example(folder / SERVER_FILE, _template(SERVER_FILE).format(port=port, house=house) + kept)
    write_example(folder / README, _template(README).format(server=server))
    typer.echo(
        f"wrote {folder}/; start the server there with: happycity serve --config {SERVER_FILE}\n"
        'invite a guest there with: happycity invite create --owner "Team 1" --bots 1'
    )


def _template(name: str) -> str:
    """Return a file of a competition as it is before its own values are filled in."""
    return Path(__file__).with_name("competition").joinpath(name).read_text(encoding="utf-8")
