"""What `happycity join` does: exchanges an invitation for tokens, and looks after the file of settings.

Raises ConfigError if the link or the file can't be used, and ServerError if the server can't be reached or
refuses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from happycity.access.v1beta1 import access_service_pb2 as pb
from happycity.errors import ConfigError
from happycity.match import check_bot_name
from happycity_runtime.calls import new_request_id
from happycity_runtime.environment import read_settings_file
from happycity_runtime.files import replacing
from happycity_runtime.guests import CA_FILE, Link, settings_text
from happycity_runtime.transport import Access, parse_tokens
from happycity_tournament.client.connection import Connection, call_server
from happycity_tournament.client.run_folder import RemoteServer


def join_server(text: str, bots: Sequence[str], out: Path) -> None:
    """Exchange an invitation for tokens of some bots, and write them to a file that isn't there yet."""
    link = Link.parse(text)
    for name in bots:
        check_bot_name(name)
    if not bots:
        raise ConfigError("--bot: name your bot, such as --bot alice")
    ca_file = out.with_name(CA_FILE)
    for file in (out, *([ca_file] if link.ca else [])):
        if file.exists():
            raise ConfigError(f"{file} is there already: join from another folder, or name another --out")
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:  # the certificate has its place only when the guest has joined
        trusted = Path(folder) / CA_FILE
        trusted.write_text(link.ca, encoding="utf-8")
        access = Access(ca=trusted if link.ca else None)
        server = RemoteServer(address=str(link.server), access=access)
        with _request_id(out) as request_id:
            request = pb.JoinRequest(invitation=link.secret, bots=bots, request_id=request_id)
            joined: pb.JoinResponse = call_server(server, lambda at: at.call(at.guests.Join, request))
            if link.ca:
                ca_file.write_text(link.ca, encoding="utf-8")
            tokens = {token.name: token.token for token in joined.tokens}
            _write(out, str(link.server), CA_FILE if link.ca else "", tokens)
    names = ", ".join(token.name for token in joined.tokens)
    typer.echo(f"joined {link.server} as {joined.owner} with {names}; wrote {out}, which is secret")


def renew_tokens(out: Path) -> None:
    """Replace the tokens of a file by new ones; those before them end."""
    server, tokens = _read(out)
    ca = server.access.ca.name if server.access.ca else ""
    for name, token in tokens.items():
        own = replace(server, access=replace(server.access, token=token))
        renewed: pb.BotToken = call_server(
            own, lambda at: at.call(at.guests.RenewToken, pb.RenewTokenRequest())
        )
        tokens = {**tokens, name: renewed.token}
        _write(out, server.address, ca, tokens)
        new = replace(server, access=replace(server.access, token=renewed.token))
        call_server(new, lambda at: at.call(at.guests.ListTokens, pb.ListTokensRequest()))  # ends the old one
    typer.echo(f"renewed the tokens in {out}; start the bots again")


def revoke_tokens(out: Path) -> None:
    """End the tokens of a file, and remove it."""
    server, tokens = _read(out)

    async def revoke(at: Connection) -> None:
        own = {token.split("_")[1] for token in tokens.values()}
        last = server.access.token.split("_")[1]  # by which the others are revoked
        for one in sorted(own, key=lambda one: one == last):
            await at.call(at.guests.RevokeToken, pb.RevokeTokenRequest(id=one))

    call_server(server, revoke)
    out.unlink()
    typer.echo(f"revoked the tokens of {', '.join(tokens)}, and removed {out}")


@contextmanager
def _request_id(out: Path) -> Iterator[str]:
    """Yield the request id of the call that makes a file of settings.

    It is the same until the file is written: the invitation is good for one call, whose answer may be lost.
    """
    path = out.with_name(f".{out.name}.request")
    if not path.exists():
        with replacing(path, private=True) as partial:
            partial.write_text(new_request_id(), encoding="utf-8")
    yield path.read_text(encoding="utf-8")
    path.unlink()


def _read(out: Path) -> tuple[RemoteServer, dict[str, str]]:
    """Return the server of a file of settings, and its tokens by name, "" for the only one."""
    found = {"HAPPYCITY_ENV": str(out)}
    read_settings_file(found)
    if not found.get("HAPPYCITY_SERVER") or not (
        found.get("HAPPYCITY_TOKEN") or found.get("HAPPYCITY_TOKENS")
    ):
        raise ConfigError(f"{out} has no server or no token; join first: happycity join LINK --bot NAME")
    tokens = parse_tokens(found.get("HAPPYCITY_TOKENS", "")) or {"": found["HAPPYCITY_TOKEN"]}
    ca = Path(found["HAPPYCITY_CA"]) if found.get("HAPPYCITY_CA") else None
    access = Access(token=next(iter(tokens.values())), ca=ca)
    return RemoteServer(address=found["HAPPYCITY_SERVER"], access=access), tokens


def _write(out: Path, server: str, ca: str, tokens: Mapping[str, str]) -> None:
    """Write a file of settings that its owner alone may read."""
    with replacing(out, private=True) as partial:
        partial.write_text(settings_text(server, ca, tokens), encoding="utf-8")
