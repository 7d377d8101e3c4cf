"""Fails in a way of its own in each cycle; the first project is that of the climber."""

import os
import sys
import time
from pathlib import Path

cycle = int(os.environ["HAPPYCITY_CYCLE"])
if cycle == 1:  # a bot that doesn't start
    Path("bot.py").write_text("broken\n")
elif cycle == 2:  # without an end, and with a bot that would pass
    Path("bot.py").write_text(Path("first.py").read_text())
    time.sleep(1_000_000)
elif cycle == 3:  # a full disk
    for number in range(1_000_000):
        Path(f"{number}.bin").write_bytes(b"x" * (1 << 20))
elif cycle == 4:  # an error, after its bot was removed
    Path("bot.py").unlink()
    sys.exit(3)
else:  # links, files without rights, a repository of its own
    Path("bot.py").unlink()
    Path("bot.py").symlink_to("/etc/passwd")
    Path("closed").mkdir()
    Path("closed/file").touch()
    Path("closed").chmod(0)
