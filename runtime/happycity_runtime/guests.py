"""What a guest of a server gets: the link of an invitation, and a file of settings for bots and commands.

What has another form is a ConfigError.
"""

from __future__ import annotations

import re
import ssl
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from happycity.errors import ConfigError
from happycity_runtime.environment import SERVER_VARIABLE
from happycity_runtime.transport import TOKENS_VARIABLE, Target, format_tokens, read_authorities

CA_FILE = "happycity-ca.pem"
"""Where a guest's copy of the server's CA certificate is, beside the settings."""
_PAGE = "/join#"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


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
    def to(cls, server: str, secret: str, *, ca: Path | None, setting: str) -> Self:
        """Return the link to the server that `setting` names, with the first of `ca` if TLS is used."""
        target = Target.parse(server, setting=setting)
        text = read_authorities(ca, "HAPPYCITY_CA").decode() if ca is not None and target.tls else ""
        first = _CERTIFICATE.search(text)
        return cls(target, secret, first[0] if first else "")

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
