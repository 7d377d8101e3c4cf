"""Climbs: changes the constant of the bot by two, the other way if the last change did harm."""

import json
import re
import sys
from pathlib import Path

bot = Path("bot.py")
found = re.search(r"CARE = (-?\d+)", bot.read_text())
assert found is not None
care = int(found[1])
edit = json.loads(Path("feedback/edit.json").read_text())
did_harm = edit["gain"] is not None and edit["gain"]["score"]["value"] < 0
care = max(-4, min(4, care - 2 if did_harm else care + 2))
bot.write_text(bot.read_text().replace(found[0], f"CARE = {care}"))
Path("usage.json").write_text(json.dumps({"tokens": 100, "money": 0.25}))
sys.stdout.write(f"care {found[1]} -> {care}\n")
