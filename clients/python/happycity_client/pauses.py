"""How long a bot waits before it connects again. All times are seconds."""

from __future__ import annotations

from happycity_runtime.pauses import doubling

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0


class Pauses:
    """The pauses of one bot: they double until its server plays again."""

    def __init__(self, reconnect: float) -> None:
        self.lost_at = 0.0
        """When the last stream ended that the server had welcomed."""
        self._reconnect = reconnect
        self._bounds = doubling(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)

    def next(self, now: float, *, messages: int, delay: float, share: float) -> float | None:
        """Return the pause after a stream that brought some messages; None gives the server up.

        `delay` is what the server asks for at least. Chance takes a `share` of the pause, from 0 to 1: it
        spreads the bots of a server that was restarted.
        """
        if messages > 0:
            self.lost_at = now
        if messages > 1:  # a server that only welcomes and drops bots is not to be hammered
            self._bounds = doubling(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
        left = self._reconnect - (now - self.lost_at)
        if left <= delay:
            return None
        return max(min(share * next(self._bounds), left), delay)
