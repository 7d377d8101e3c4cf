"""Write catalogue.json: what `CatalogueService.GetCatalogue` answers, for SDKs that bring it with them."""

from __future__ import annotations

import json
from pathlib import Path

from files import write_or_check
from google.protobuf.json_format import MessageToDict

from happycity.wire.messages import catalogue_message

FILE = Path(__file__).with_name("catalogue.json")


def catalogue() -> str:
    """Return the file's content."""
    message = catalogue_message()
    cards = [json.dumps(MessageToDict(card), ensure_ascii=False) for card in message.cards]
    return f'{{"digest": "{message.digest}", "cards": [\n' + ",\n".join(cards) + "\n]}\n"


if __name__ == "__main__":
    write_or_check({FILE: catalogue()})
