"""Tokens and the file that keeps them."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from happycity_server.bearer import redacted, token_id
from happycity_server.tokens import (
    Role,
    TokenError,
    TokenFile,
    create_token,
    read_tokens,
    revoke_token,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a tokens file may be made."""
    return tmp_path / "deep" / "tokens.json"


def test_token_is_found_again(path: Path) -> None:
    """Whoever shows a token is known by its role and name."""
    clear, kept = create_token(path, Role.BOT, "alice", created=NOW)
    assert TokenFile(path).find(clear, NOW) == kept
    assert (kept.role, kept.name, kept.expires) == (Role.BOT, "alice", None)


def test_token_is_recognisable_and_long(path: Path) -> None:
    """A token begins with hc_ and its id, and has 256 bits of chance."""
    clear, kept = create_token(path, Role.BOT, "alice", created=NOW)
    assert clear.startswith(f"hc_{kept.id}_")
    assert token_id(clear) == kept.id
    assert len(clear.removeprefix(f"hc_{kept.id}_")) == 43  # 32 bytes in base 64


def test_secret_is_kept_nowhere(path: Path) -> None:
    """The file holds a hash, and only its owner may read it."""
    clear, kept = create_token(path, Role.ORGANISER, "olga", created=NOW)
    assert clear.rpartition("_")[2] not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["tokens.json"]
    (entry,) = json.loads(path.read_text())["tokens"]
    assert entry == {
        "id": kept.id,
        "role": "organiser",
        "name": "olga",
        "created": "2030-01-01T00:00:00Z",
        "expires": None,
        "sha256": kept.sha256,
    }


def test_wrong_secret_is_not_found(path: Path) -> None:
    """The id of a token alone opens nothing, nor does anything else."""
    clear, kept = create_token(path, Role.BOT, "alice", created=NOW)
    file = TokenFile(path)
    for wrong in (
        f"hc_{kept.id}_{'A' * 43}",
        clear[:-1],
        clear + "A",
        clear.upper(),
        kept.id,
        kept.sha256,
        "",
    ):
        assert file.find(wrong, NOW) is None


def test_token_expires(path: Path) -> None:
    """A token holds until the moment of its expiry."""
    clear, kept = create_token(path, Role.BOT, "alice", created=NOW, expires=NOW + timedelta(days=1))
    file = TokenFile(path)
    assert file.find(clear, NOW + timedelta(hours=23)) == kept
    assert file.find(clear, NOW + timedelta(days=1)) is None
    assert not file.still_holds(kept, NOW + timedelta(days=1))


def test_file_is_read_again_when_it_changed(path: Path) -> None:
    """New tokens and revocations are noticed, and only then is the file read."""
    first, kept = create_token(path, Role.BOT, "alice", created=NOW)
    file = TokenFile(path)
    assert not file.refresh()
    second, _ = create_token(path, Role.BOT, "bob", created=NOW)
    assert file.refresh()
    assert file.find(second, NOW) is not None
    assert revoke_token(path, kept.id) == kept
    assert file.refresh()
    assert file.find(first, NOW) is None
    assert not file.still_holds(kept, NOW)
    assert file.find(second, NOW) is not None


def test_file_that_is_gone_holds_no_tokens(path: Path) -> None:
    """Removing the file revokes everything."""
    clear, _ = create_token(path, Role.BOT, "alice", created=NOW)
    file = TokenFile(path)
    path.unlink()
    assert file.refresh()
    assert file.find(clear, NOW) is None


def test_file_that_makes_no_sense_changes_nothing(path: Path) -> None:
    """A slip of an editor ends no tournament; it is told once."""
    clear, _ = create_token(path, Role.BOT, "alice", created=NOW)
    file = TokenFile(path)
    path.write_text("{")
    with pytest.raises(TokenError, match="is no tokens file"):
        file.refresh()
    assert not file.refresh()
    assert file.find(clear, NOW) is not None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"role": "king"}, r"tokens\.0\.role"),
        ({"colour": "red"}, r"tokens\.0\.colour"),
        ({"sha256": "abc"}, r"tokens\.0\.sha256"),
        ({"expires": "2030-01-01T00:00:00"}, r"tokens\.0\.expires.*timezone"),
    ],
)
def test_wrong_entry_is_named(path: Path, change: dict[str, str], told: str) -> None:
    """The place in the file is told, and not what stands there."""
    create_token(path, Role.BOT, "alice", created=NOW)
    content = json.loads(path.read_text())
    content["tokens"][0].update(change)
    path.write_text(json.dumps(content))
    with pytest.raises(TokenError, match=told):
        read_tokens(path)


def test_id_that_comes_twice_is_refused(path: Path) -> None:
    """Two entries of one id would leave open which of them counts."""
    create_token(path, Role.BOT, "alice", created=NOW)
    content = json.loads(path.read_text())
    content["tokens"] *= 2
    path.write_text(json.dumps(content))
    with pytest.raises(TokenError, match="an id comes twice"):
        read_tokens(path)


def test_tokens_made_at_the_same_time_are_all_kept(path: Path) -> None:
    """Commands that change the file at once do not lose each other's changes."""
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: create_token(path, Role.BOT, f"bot{n}", created=NOW)[1], range(24)))
    assert sorted(token.id for token in read_tokens(path)) == sorted(token.id for token in made)


def test_link_to_the_file_stays_a_link(path: Path, tmp_path: Path) -> None:
    """Where the file is elsewhere, it is changed there."""
    link = tmp_path / "link.json"
    link.symlink_to(path)
    _, kept = create_token(link, Role.BOT, "alice", created=NOW)
    assert link.is_symlink()
    assert read_tokens(path) == (kept,)


def test_names_are_those_of_bots(path: Path) -> None:
    """A name that no bot can have is refused, and nothing is written."""
    with pytest.raises(TokenError, match="name: 'not a name'"):
        create_token(path, Role.BOT, "not a name", created=NOW)
    assert not path.exists()


def test_unknown_id_cannot_be_revoked(path: Path) -> None:
    """The id is told; a whole token that is given instead is not."""
    clear, kept = create_token(path, Role.BOT, "alice", created=NOW)
    with pytest.raises(TokenError, match="no token '12345678'"):
        revoke_token(path, "12345678")
    with pytest.raises(TokenError) as caught:
        revoke_token(path, clear)
    assert clear not in str(caught.value)
    assert kept.id in str(caught.value)


def test_secrets_are_taken_out_of_texts(path: Path) -> None:
    """What looks like a token keeps only its id."""
    clear, kept = create_token(path, Role.BOT, "alice", created=NOW)
    assert redacted(f"Bearer {clear}, and so on") == f"Bearer hc_{kept.id}_***, and so on"
