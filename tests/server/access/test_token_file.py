"""Tokens and the file that keeps them."""

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from happycity import ConfigError
from happycity_runtime.tokens import Role, Token, TokenError, add_tokens, new_token, read_tokens_file
from happycity_server.access.token_file import TokenFile, redacted, revoke_token, token_id

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def create_token(path: Path, role: Role, name: str, *, expires: datetime | None = None) -> tuple[str, Token]:
    clear, token = new_token(role, name, created=NOW, expires=expires)
    add_tokens(path, [token])
    return clear, token


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "tokens.json"


def test_token_is_found_by_its_text_alone(path: Path) -> None:
    # A token begins with hc_ and its id, and has 256 random bits.
    clear, kept = create_token(path, Role.BOT, "alice")
    file = TokenFile(path)
    assert file.find(clear, NOW) == kept
    assert (kept.role, kept.name, kept.expires) == (Role.BOT, "alice", None)
    assert clear.startswith(f"hc_{kept.id}_")
    assert token_id(clear) == kept.id
    assert len(clear.removeprefix(f"hc_{kept.id}_")) == 43  # 32 bytes in base 64
    # What looks like a token keeps only its id.
    assert redacted(f"Bearer {clear}, and so on") == f"Bearer hc_{kept.id}_***, and so on"

    # The id of a token alone opens nothing, nor does anything else.
    guesses = (f"hc_{kept.id}_{'A' * 43}", clear[:-1], clear + "A", clear.upper(), kept.id, kept.sha256, "")
    assert [file.find(wrong, NOW) for wrong in guesses] == [None] * len(guesses)


def test_secret_is_stored_nowhere(path: Path) -> None:
    """The file holds a hash, and only its owner may read it."""
    clear, kept = create_token(path, Role.ORGANISER, "olga")
    secret = clear.split("_", 2)[2]
    assert len(secret) >= 43
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert sorted(os.listdir(path.parent)) == [".tokens.json.lock", "tokens.json"]
    (entry,) = json.loads(path.read_text())["tokens"]
    assert entry == {
        "id": kept.id,
        "role": "organiser",
        "name": "olga",
        "owner": "olga",
        "created": "2030-01-01T00:00:00Z",
        "expires": None,
        "sha256": kept.sha256,
        "replaces": "",
    }


def test_token_expires(path: Path) -> None:
    clear, kept = create_token(path, Role.BOT, "alice", expires=NOW + timedelta(days=1))
    file = TokenFile(path)
    assert file.find(clear, NOW + timedelta(hours=23)) == kept
    assert file.find(clear, NOW + timedelta(days=1)) is None
    assert not file.is_unchanged(kept, NOW + timedelta(days=1))


def test_file_is_read_again_when_it_changed(path: Path) -> None:
    """New tokens and revocations are noticed, and only then is the file read."""
    first, kept = create_token(path, Role.BOT, "alice")
    file = TokenFile(path)
    assert not file.refresh()
    second, _ = create_token(path, Role.BOT, "bob")
    assert file.refresh()
    assert file.find(second, NOW) is not None
    assert revoke_token(path, kept.id) == kept
    assert file.refresh()
    assert file.find(first, NOW) is None
    assert not file.is_unchanged(kept, NOW)
    assert file.find(second, NOW) is not None


def test_file_that_is_gone_or_malformed(path: Path) -> None:
    """A slip of an editor ends no tournament, and is reported once; a missing file holds no tokens."""
    clear, _ = create_token(path, Role.BOT, "alice")
    file = TokenFile(path)
    path.write_text("{")
    with pytest.raises(TokenError, match="is not a tokens file"):
        file.refresh()
    assert not file.refresh()
    assert file.find(clear, NOW) is not None
    path.unlink()
    assert file.refresh()
    assert file.find(clear, NOW) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"role": "king"}, r"tokens\.0\.role"),
        ({"colour": "red"}, r"tokens\.0\.colour"),
        ({"sha256": "abc"}, r"tokens\.0\.sha256"),
        ({"expires": "2030-01-01T00:00:00"}, r"tokens\.0\.expires.*timezone"),
        ({}, "two tokens have the same id"),
    ],
)
def test_wrong_entry_is_named(path: Path, change: dict[str, str], problem: str) -> None:
    """A second entry of the same id would leave open which of them counts."""
    create_token(path, Role.BOT, "alice")
    content = json.loads(path.read_text())
    content["tokens"][0].update(change)
    path.write_text(json.dumps(content if change else {**content, "tokens": content["tokens"] * 2}))
    with pytest.raises(TokenError, match=problem):
        read_tokens_file(path)


def test_concurrent_changes_are_all_kept(path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: create_token(path, Role.BOT, f"bot{n}")[1], range(24)))
    assert sorted(token.id for token in read_tokens_file(path).tokens) == sorted(token.id for token in made)


def test_link_to_the_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(path)
    _, kept = create_token(link, Role.BOT, "alice")
    assert link.is_symlink()
    assert read_tokens_file(path).tokens == [kept]


def test_owner_is_kept(path: Path) -> None:
    """An owner's tokens say so; tokens of files without owners belong to their names."""
    add_tokens(
        path,
        [new_token(Role.BOT, name, created=NOW, owner="anna")[1] for name in ("one", "two")],
    )
    create_token(path, Role.BOT, "ben")
    assert [token.owner for token in read_tokens_file(path).tokens] == ["anna", "anna", "ben"]
    content = json.loads(path.read_text())
    for entry in content["tokens"]:
        del entry["owner"]
    path.write_text(json.dumps(content))
    assert [token.owner for token in read_tokens_file(path).tokens] == ["one", "two", "ben"]
    file = TokenFile(path)
    assert [file.owner_of(bot) for bot in ("one", "ben", "nobody")] == ["one", "ben", None]
    later = NOW + timedelta(days=1)
    add_tokens(path, [new_token(Role.BOT, "one", created=later, owner="carl")[1]])
    assert file.refresh()
    assert file.owner_of("one") == "carl"
    for wrong in ("two\nlines", " blank", "x" * 65):
        with pytest.raises(ConfigError, match=r"^owner "):
            new_token(Role.BOT, "one", created=NOW, owner=wrong)


def test_unknown_id_cannot_be_revoked(path: Path) -> None:
    clear, kept = create_token(path, Role.BOT, "alice")
    with pytest.raises(TokenError, match="no token '12345678'"):
        revoke_token(path, "12345678")
    with pytest.raises(TokenError) as caught:
        revoke_token(path, clear)
    assert clear not in str(caught.value)
    assert kept.id in str(caught.value)
