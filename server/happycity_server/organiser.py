"""The commands of who opens a competition: `happycity cert`, `competition` and `invite`."""

from __future__ import annotations

import json

# ruff: noqa: PLC0415 - the help of a command must not wait for what only the command needs
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from happycity import ConfigError
from happycity.access.v1beta1 import access_service_pb2 as pb
from happycity.text.words import plural
from happycity_runtime.calls import new_request_id
from happycity_runtime.commands import AsJson, Commands, Server, write_example
from happycity_runtime.files import replacing
from happycity_runtime.guests import SETTINGS_FILE, Link, settings_text
from happycity_runtime.tokens import MAX_INVITED, Role, add_tokens, new_token
from happycity_runtime.transport import Target, join_host_port
from happycity_server.cli import duration, validity

CA_FILE, CERT_FILE, KEY_FILE = "ca.pem", "cert.pem", "key.pem"
SERVER_FILE, TOURNAMENT_FILE, LADDER_FILE = "server.toml", "tournament.toml", "ladder.toml"
TOKENS_FILE, README = "tokens.json", "README.md"
_ORGANISER = "organiser"

cert = Commands("Make the certificate of a server that other machines reach.")
competition = Commands("Open a competition of one's own.")
invite = Commands("Invite guests: create, list and revoke invitations.")

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


@invite.command("create")
def create_invitation(
    *,
    owner: Annotated[str, typer.Option(help="Who the guest is, such as 'Team 7'; the bots belong to it.")],
    bots: Annotated[
        int, typer.Option(min=1, max=MAX_INVITED, metavar="N", help="How many bots the guest may name.")
    ] = 1,
    expires: Annotated[
        str, typer.Option(help="How long the invitation is valid, such as 7d, 12h or 90m.")
    ] = "7d",
    server: Server = None,
    web: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="Where the server's pages are, such as https://arena.example:8080: the link opens there.",
            envvar="HAPPYCITY_WEB",
        ),
    ] = "",
) -> None:
    """Let the server make an invitation, and print its link, this once: the server stores its hash alone.

    A link works once: send it by a private channel. The certificate that a guest has to trust is part of it.
    """
    request = pb.CreateInvitationRequest(owner=owner, bots=bots, request_id=new_request_id())
    request.lifetime.FromTimedelta(duration(expires))
    made: pb.CreateInvitationResponse = _ask(server, "CreateInvitation", request)
    typer.echo(f"invitation {_described(made.invitation)}", err=True)
    typer.echo(str(replace(Link.parse(made.link), page=web)))


@invite.command("list")
def list_invitations(*, as_json: AsJson = False, server: Server = None) -> None:
    """List the invitations that no guest has used, without their secrets."""
    listed: pb.ListInvitationsResponse = _ask(server, "ListInvitations", pb.ListInvitationsRequest())
    if as_json:
        from happycity.wire.json import message_json

        typer.echo(json.dumps(list(map(message_json, listed.invitations)), indent=2))
        return
    for one in listed.invitations:
        typer.echo(_described(one))


@invite.command("revoke")
def revoke_one_invitation(
    invitation_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, as invite list shows it.")],
    *,
    server: Server = None,
) -> None:
    """Revoke an invitation that no guest has used."""
    _ask(server, "RevokeInvitation", pb.RevokeInvitationRequest(id=invitation_id))
    typer.echo(f"revoked: invitation {invitation_id}")


def _ask(server: str | None, method: str, request: Any) -> Any:
    """Call a method of AccessService; the token is an organiser's."""
    from happycity_tournament.client.connection import call_server
    from happycity_tournament.client.run_folder import RemoteServer

    return call_server(RemoteServer.at(server), lambda at: at.call(getattr(at.guests, method), request))


def _described(one: pb.Invitation) -> str:
    expires = one.expire_time.ToDatetime(UTC) if one.HasField("expire_time") else None
    valid = validity(expires, datetime.now(UTC))
    return f"{one.id}: {one.owner}, for {plural(one.bots, 'bot')}, {valid}"
