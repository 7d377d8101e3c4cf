"""Write catalogue.json: what `CatalogueService.GetCatalogue` answers, for SDKs that bring it with them.

With --check nothing is written: the exit status is 1 if the file is not what would be written.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from google.protobuf.json_format import MessageToDict

from happycity import CARDS
from happycity.wire import card_info_message

FILE = Path(__file__).with_name("catalogue.json")


def main(arguments: list[str]) -> int:
    """Write the file, or compare it."""
    cards = [json.dumps(MessageToDict(card_info_message(card)), ensure_ascii=False) for card in CARDS]
    text = '{"cards": [\n' + ",\n".join(cards) + "\n]}\n"
    if arguments == ["--check"]:
        return 0 if FILE.read_text(encoding="utf-8") == text else 1
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
