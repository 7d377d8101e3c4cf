"""Bearer tokens as text: `hc_`, an id that may be seen, and a secret that may not."""

from __future__ import annotations

import re
import secrets

PREFIX = "hc"
"""What every token begins with, so that scanners for secrets can be taught to find them."""
SECRET_BYTES = 32
ID_BYTES = 4
ID_PATTERN = f"[0-9a-f]{{{2 * ID_BYTES}}}"

_TOKEN = re.compile(rf"{PREFIX}_({ID_PATTERN})_[A-Za-z0-9_-]+")


def new_clear() -> tuple[str, str]:
    """Make a token; return its id and the token in clear."""
    own_id = secrets.token_hex(ID_BYTES)
    return own_id, f"{PREFIX}_{own_id}_{secrets.token_urlsafe(SECRET_BYTES)}"


def token_id(clear: str) -> str | None:
    """Return the part of a token that may be logged; None if it doesn't look like a token."""
    match = _TOKEN.fullmatch(clear)
    return match[1] if match else None


def redacted(text: str) -> str:
    """Return a text without the secrets of tokens in it."""
    return _TOKEN.sub(rf"{PREFIX}_\1_***", text)
