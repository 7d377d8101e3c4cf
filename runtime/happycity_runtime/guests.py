"""What a guest of a server gets: the link of an invitation, and a file of settings for bots and commands.

What has another form is a ConfigError.
"""

from __future__ import annotations

import re
import ssl
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from happycity.errors import ConfigError
from happycity_runtime.files import read_text
from happycity_runtime.transport import (
    SERVER_VARIABLE,
    TOKENS_VARIABLE,
    Target,
    format_tokens,
    read_authorities,
)

SETTINGS_FILE = "happycity.env"
"""The file of settings that commands and bots read in the folder where they are started."""
SETTINGS_VARIABLE = "HAPPYCITY_ENV"
"""The environment variable with the path of another such file."""
CA_FILE = "happycity-ca.pem"
"""Where a guest's copy of the server's CA certificate is, beside the settings."""
_PAGE = "/join#"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
_PATHS = ("HAPPYCITY_CA", "HAPPYCITY_CERT", "HAPPYCITY_KEY", "HAPPYCITY_SERVE_TOKENS")
_LINE = re.compile(r"(?P<name>HAPPYCITY_[A-Z_]+)=(?P<value>[^\0]*)")


@dataclass(frozen=True, slots=True)
class Link:
    """The link of an invitation: `grpcs://host:port/join/SECRET.CA`, behind `PAGE/join#` for a browser.

    What follows the # stays in the browser, so neither proxies nor logs get the secret.
    """

    server: Target
    secret: str
    ca: str = ""
    """The certificate to trust, in PEM; "" for the well-known ones."""
    page: str = ""
    """Where the server's pages are, such as https://arena.example; "" without them."""

    @classmethod
    def to(cls, server: str, secret: str, *, ca: Path | None, page: str = "", setting: str) -> Self:
        """Return the link to the server that `setting` names, with the first of `ca` if TLS is used."""
        target = Target.parse(server, setting=setting)
        text = read_authorities(ca, "HAPPYCITY_CA").decode() if ca is not None and target.tls else ""
        first = _CERTIFICATE.search(text)
        return cls(target, secret, first[0] if first else "", page)

    def __str__(self) -> str:
        """Write the link; the certificate is its DER in base64 with the alphabet of URLs, without padding."""
        mark = urlsafe_b64encode(ssl.PEM_cert_to_DER_cert(self.ca)).decode().rstrip("=") if self.ca else ""
        page = f"{self.page.rstrip('/')}{_PAGE}" if self.page else ""
        return f"{page}{self.server}/join/{self.secret}{'.' if mark else ''}{mark}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a link, whose secret no error repeats."""
        page, _, own = text.strip().rpartition(_PAGE)
        address, separator, rest = own.partition("/join/")
        secret, _, mark = rest.partition(".")
        if not (separator and secret):
            raise ConfigError(
                "LINK: it is not the link of an invitation, such as grpcs://arena.example:443/join/hci_...; "
                "copy all of it, in quotes"
            )
        server = Target.parse(address, setting="LINK")
        if not mark:
            return cls(server, secret, page=page)
        try:
            ca = ssl.DER_cert_to_PEM_cert(urlsafe_b64decode(mark + "=" * (-len(mark) % 4)))
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=ca)
        except (ValueError, ssl.SSLError):
            raise ConfigError("LINK: its end is not a certificate; copy all of it, in quotes") from None
        return cls(server, secret, ca, page)


def settings_text(server: str, ca: str, tokens: Mapping[str, str], **others: str) -> str:
    """Return a file of settings, without those that are "". A shell may read it too: no value needs quotes.

    Of several tokens, which are by name, the first one is for programs without a name.
    """
    head = "# How the bots and commands of this folder reach a Happy City server. The token is secret.\n"
    values = {SERVER_VARIABLE: server, "HAPPYCITY_CA": ca, "HAPPYCITY_TOKEN": next(iter(tokens.values()))}
    values |= {TOKENS_VARIABLE: format_tokens(tokens) if len(tokens) > 1 else "", **others}
    return head + "".join(f"{name}={value}\n" for name, value in values.items() if value)


def read_settings_file(environ: MutableMapping[str, str]) -> None:
    """Take what the environment lacks from the file of settings, if there is one.

    It is the file that HAPPYCITY_ENV names, else `happycity.env` in this process's folder. Its tokens are for
    one server: where the environment has an address already, also an empty one, the file's CA alone counts,
    and that only where the environment has no access of its own. Paths in it are relative to the file.
    """
    other_server = SERVER_VARIABLE in environ
    if other_server and any(environ.get(f"HAPPYCITY_{name}") for name in ("CA", "TOKEN", "TOKENS")):
        return
    named = environ.get(SETTINGS_VARIABLE)
    path = Path(named or SETTINGS_FILE)
    try:
        lines = read_text(path).split("\n")
    except FileNotFoundError:
        if named and not other_server:
            raise ConfigError(f"{SETTINGS_VARIABLE}: there is no file {path}") from None
        return
    except (OSError, UnicodeDecodeError):
        raise ConfigError(f"{path} can't be read as text in UTF-8") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if (match := _LINE.fullmatch(line.strip())) is None:
            raise ConfigError(f"{path}:{number}: it is not HAPPYCITY_NAME=VALUE")
        name, value = match["name"], match["value"]
        if other_server and name != "HAPPYCITY_CA":
            continue
        if name in _PATHS and value:
            value = str(path.parent / value)
        environ.setdefault(name, value)
