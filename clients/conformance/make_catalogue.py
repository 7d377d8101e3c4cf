"""Write catalogue.json: what `CatalogueService.GetCatalogue` answers, for SDKs that bring it with them."""

from __future__ import annotations

import json
from pathlib import Path

from files import write_or_check
from google.protobuf.json_format import MessageToDict

from happycity import CARDS
from happycity.wire import card_info_message

FILE = Path(__file__).with_name("catalogue.json")


def catalogue() -> str:
    """Return the file's content."""
    cards = [json.dumps(MessageToDict(card_info_message(card)), ensure_ascii=False) for card in CARDS]
    return '{"cards": [\n' + ",\n".join(cards) + "\n]}\n"


if __name__ == "__main__":
    write_or_check({FILE: catalogue()})
