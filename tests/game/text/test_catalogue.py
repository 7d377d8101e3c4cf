"""The digest of the catalogue, by which a bot notices that its own table of the cards is an older one."""

from __future__ import annotations

import hashlib
import json

import pytest

from happycity.text import catalogue
from happycity.text.catalogue import catalogue_digest, entries


def test_the_digest_is_that_of_all_cards_as_json() -> None:
    """It is the SHA-256 of the entries, in UTF-8, without blanks and with sorted keys."""
    text = json.dumps(entries(), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert catalogue_digest() == hashlib.sha256(text.encode("utf-8")).hexdigest()
    assert catalogue_digest() == catalogue_digest()


@pytest.mark.parametrize("name", list(entries()[0]))
def test_any_change_of_a_card_changes_the_digest(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A value of the last card is enough, whichever it is."""
    before, changed = catalogue_digest(), entries()
    changed[-1][name] = "changed"
    monkeypatch.setattr(catalogue, "entries", lambda: changed)
    assert catalogue_digest.__wrapped__() != before


def test_a_card_more_or_less_changes_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """So does the order of the cards."""
    digests = {catalogue_digest()}
    for changed in (entries()[:-1], [*entries(), entries()[0]], entries()[::-1]):
        monkeypatch.setattr(catalogue, "entries", lambda changed=changed: changed)
        digests.add(catalogue_digest.__wrapped__())
    assert len(digests) == 4
