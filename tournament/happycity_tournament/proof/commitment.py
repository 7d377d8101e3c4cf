"""The commitment of an organiser: hashes that fix a tournament before its first game."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from happycity.errors import ConfigError, FieldError, other_format
from happycity.rules.deals import DEALING, EDITION
from happycity_runtime.files import replacing
from happycity_tournament.config import COMMITMENT_FILE, TournamentConfig
from happycity_tournament.lineup import Lineup
from happycity_tournament.plain_json import json_line

FORMAT = "happycity-commitment/1"
MAX_TEXT = 256
"""Maximum number of characters of a salt or beacon."""
MIN_SALT = 16
"""Minimum number of characters of a salt: a shorter one could be guessed from its hash."""


def canonical(value: Any) -> bytes:
    """Return a value as the only JSON that is hashed: sorted keys, no spaces, ASCII.

    Raises:
        ValueError: it has a number that JSON doesn't have.
    """
    return json_line(value, sort_keys=True)


def digest_of(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hexadecimal digits."""
    return hashlib.sha256(canonical(value)).hexdigest()


@cache
def sources_digest(package: Path) -> str:
    """Return the SHA-256 over the names and contents of a package's sources, tables and weights."""
    files = sorted(path for path in package.rglob("*") if path.suffix in (".py", ".csv", ".npz"))
    names = (path.relative_to(package).as_posix() for path in files)
    digests = (hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
    return digest_of(dict(zip(names, digests, strict=True)))


def rules_version() -> str:
    """Return by which rules games are replayed here: every later version with the same can verify them."""
    return f"rules {EDITION}, deals {DEALING}"


def bots_digest() -> str:
    """Return the digest of the reference bots and of their evaluation, neither of which is imported."""
    found = map(find_spec, ("happycity_bots", "happycity_evaluation"))
    return digest_of([sources_digest(Path(spec.origin).parent) for spec in found if spec and spec.origin])


def programs_of(lineup: Lineup) -> dict[str, str]:
    """Return by name what the reference bots of a run are: `planner DIGEST`, that of all their sources."""
    return {name: f"{builtin} {bots_digest()}" for name, builtin in lineup.reference_bots}


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """The secret of a tournament or of a season of a ladder, and what is committed to with it."""

    seed: int
    """The organiser's seed."""
    salt: str
    """Random text, without which nobody can find the seed by its hash."""
    config: Mapping[str, Any]
    """What is played, as JSON, without a seed."""
    beacon: str | None = None
    """Public randomness that was drawn after the hash of seed and salt was published."""
    programs: Mapping[str, str] = field(default_factory=dict)
    """By name of a bot that the organiser starts: what it is, as of `programs_of`."""
    engine: str = field(default_factory=rules_version)
    """By which rules its games are played; see `rules_version`."""

    def __post_init__(self) -> None:
        """Refuse salts and beacons that are too short or too long."""
        if not MIN_SALT <= len(self.salt) <= MAX_TEXT:
            raise FieldError("salt", f"use {MIN_SALT} to {MAX_TEXT} random characters, not {len(self.salt)}")
        if self.beacon is not None and not 1 <= len(self.beacon) <= MAX_TEXT:
            raise FieldError("beacon", f"use 1 to {MAX_TEXT} characters, not {len(self.beacon)}")

    @classmethod
    def to(cls, config: TournamentConfig, **others: Any) -> Self:
        """Commit to a tournament with its own seed; `others` are the other fields."""
        content = config.json()
        return cls(seed=content.pop("seed"), config=content, **others)

    @property
    def seed_hash(self) -> str:
        """The SHA-256 of seed and salt, which is to be published before a beacon is drawn."""
        return digest_of([self.seed, self.salt])

    @property
    def hash(self) -> str:
        """The commitment, as others note it."""
        return digest_of(self.public())

    @property
    def deals(self) -> TournamentConfig:
        """The tournament with the seed of its deals: the organiser's, or with a beacon 53 bits of a hash."""
        drawn = self.beacon and int(digest_of([self.seed, self.salt, self.beacon])[:16], 16) >> 11
        return TournamentConfig.of({**self.config, "seed": self.seed if drawn is None else drawn})

    def public(self) -> dict[str, Any]:
        """Return what may be known before the end."""
        return {
            "format": FORMAT,
            "seed_hash": self.seed_hash,
            "config": dict(self.config),
            "programs": dict(self.programs),
            "engine": self.engine,
            "beacon": self.beacon,
        }

    def json(self) -> dict[str, Any]:
        """Return the commitment with its hash and its secret."""
        return {"commitment": self.public(), "hash": self.hash, "seed": self.seed, "salt": self.salt}

    @classmethod
    def of(cls, stored: object) -> Self:
        """Read what `json` wrote.

        Raises:
            ConfigError: it is malformed, or its hashes are not those of what it says.
        """
        try:
            if not isinstance(stored, dict):
                raise TypeError("not an object")
            content, seed, salt = stored["commitment"], stored["seed"], stored["salt"]
            if content["format"] != FORMAT:
                raise ConfigError(f"commitment: {other_format(content['format'], FORMAT)}")
            if type(seed) is not int or not isinstance(salt, str):
                raise TypeError("not a number and a text")
            own = {key: content[key] for key in ("config", "beacon", "programs", "engine")}
            made = cls(seed=seed, salt=salt, **own)
            if content["seed_hash"] != made.seed_hash:
                raise ConfigError("seed, salt: their hash is not the one that was committed to")
            if stored["hash"] != digest_of(content):
                raise FieldError("hash", "it is not that of the commitment")
            if made.json() != {key: stored[key] for key in made.json()}:
                raise FieldError("commitment", "it is not in the form that this version writes")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FieldError("commitment", f"malformed: {type(error).__name__}") from None
        return made

    def save(self, folder: Path) -> None:
        """Keep the commitment in a run's folder, for its owner only, as it has the secret seed."""
        with replacing(folder / COMMITMENT_FILE, private=True) as path:
            path.write_bytes(canonical(self.json()))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read the commitment of a run.

        Raises:
            ConfigError: the run has none, or it can't be read.
        """
        path = folder / COMMITMENT_FILE
        try:
            return cls.of(json.loads(path.read_bytes()))
        except FileNotFoundError:
            raise ConfigError(f"{folder}: no commitment was made before its first game") from None
        except ValueError:
            raise ConfigError(f"{path}: it is not JSON") from None
