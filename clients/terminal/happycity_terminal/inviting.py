"""The command `happycity invite`: an organiser lets a server make, list and revoke invitations."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from happycity.text.words import plural
from happycity_runtime.commands import AsJson, Commands, Server, duration, validity
from happycity_runtime.guests import Link
from happycity_runtime.tokens import MAX_INVITED
from happycity_tournament.client.run_folder import RemoteServer

if TYPE_CHECKING:
    from happycity.access.v1beta1 import access_service_pb2 as pb

invite = Commands("Invite guests: create, list and revoke invitations.")


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
    lifetime = duration(expires)
    made: pb.CreateInvitationResponse = _ask(
        server, "CreateInvitation", owner=owner, bots=bots, lifetime=lifetime
    )
    typer.echo(f"invitation {_described(made.invitation)}", err=True)
    typer.echo(str(replace(Link.parse(made.link), page=web)))


@invite.command("list")
def list_invitations(*, as_json: AsJson = False, server: Server = None) -> None:
    """List the invitations that no guest has used, without their secrets."""
    from happycity_tournament.cli.json import write_json
    from happycity_tournament.client.connection import Connection, call_server

    listed = call_server(RemoteServer.at(server), Connection.invitations)
    if as_json:
        write_json(listed)
        return
    for one in listed:
        typer.echo(_described(one))


@invite.command("revoke")
def revoke_one_invitation(
    invitation_id: Annotated[str, typer.Argument(metavar="ID", help="Its id, as invite list shows it.")],
    *,
    server: Server = None,
) -> None:
    """Revoke an invitation that no guest has used."""
    _ask(server, "RevokeInvitation", id=invitation_id)
    typer.echo(f"revoked: invitation {invitation_id}")


def _ask(server: str | None, method: str, **fields: object) -> Any:
    """Call a method of AccessService; the token is an organiser's."""
    from happycity.access.v1beta1 import access_service_pb2 as pb
    from happycity_tournament.client.connection import call_server

    request = getattr(pb, f"{method}Request")(**fields)
    return call_server(RemoteServer.at(server), lambda at: at.call(getattr(at.guests, method), request))


def _described(one: pb.Invitation) -> str:
    expires = one.expire_time.ToDatetime(UTC) if one.HasField("expire_time") else None
    valid = validity(expires, datetime.now(UTC))
    return f"{one.id}: {one.owner}, for {plural(one.bots, 'bot')}, {valid}"
