"""The one limit of all that tests wait for, and the limits of the product that tests set."""

from typing import Final

LIMIT: Final = 300.0
"""Seconds. Nothing takes as long unless it hangs, on a slow and busy machine too; pytest's own limit is far
above, so that the message of what was waited for is the one that is seen."""
MILLISECONDS: Final = 1000 * LIMIT
"""The same, as Playwright counts."""
PATIENT: Final = (
    *("--connect-seconds", f"{LIMIT:g}", "--decision-seconds", f"{LIMIT:g}", "--grace-seconds", f"{LIMIT:g}"),
)
"""Arguments of `tournament run` with which a slow machine lets no bot be late."""
