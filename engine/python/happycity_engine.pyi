"""The native engine of Happy City: a model of the game for search and self-play.

Moves are their numbers, `happycity.Move.index`, and cards theirs, `happycity.Card.number`. What is refused
raises a ValueError and changes nothing.
"""

import random
from typing import Final, Protocol

class _Value(Protocol):
    @property
    def value(self) -> str: ...

class _Config(Protocol):
    """A `happycity.Config`."""

    @property
    def players(self) -> int: ...
    @property
    def mode(self) -> _Value: ...
    @property
    def scoring(self) -> _Value: ...

_Seats = tuple[int, ...]
_Outcome = tuple[_Seats, _Seats, _Seats, _Seats, _Seats]
"""Points, coins, inhabitants, hearts and ranks by seat, as in `happycity.Outcome`."""

__version__: Final[str]

class Position:
    """A game at a decision, or at its end, as `happycity.Game`."""

    @staticmethod
    def deal(config: _Config, *, seed: int) -> Position:
        """Start a game on the deal that the arena shuffles from a seed (0 to 2^64 - 1)."""

    @staticmethod
    def from_bytes(data: bytes) -> Position:
        """Return the position that `bytes(position)` wrote; the crate's module `bytes` describes them."""

    def __bytes__(self) -> bytes: ...
    def copy(self) -> Position:
        """Return an independent game in the same position, hidden orders included."""

    @property
    def round(self) -> int:
        """The current round, 1 to 30; 0 in the market draft."""

    @property
    def seat(self) -> int:
        """Whose decision it is."""

    @property
    def phase(self) -> int:
        """The number of the step that waits, as in `happycity.Phase`."""

    @property
    def legal_moves(self) -> list[int]:
        """The moves in the contract's order; none at the end, and while a card is awaited."""

    @property
    def outcome(self) -> _Outcome | None:
        """How the game ended, once it is over."""

    def score(self) -> _Outcome:
        """Return how the game would end if it ended now."""

    def apply(self, number: int) -> None:
        """Play a legal move, then every forced one up to the next decision."""

    def opened(self) -> Position:
        """Return the same position without hidden orders: at each draw it awaits a card."""

    @property
    def awaited(self) -> _Seats:
        """The cards of which an open position awaits one, each as likely as the others."""

    def reveal(self, card: int) -> None:
        """Let the awaited card be this one, and play on."""

    def quick_move(self, *, fast: int = 0) -> int | None:
        """Return the choice of the quick policy; bit n of `fast` is set for a seat n that always buys."""

    def plan(self) -> tuple[list[float], float]:
        """Return the planner's worth of each legal move, whose first greatest one it plays, and points.

        These are the ones it expects at the end if it buys nothing or declines; 0 at other steps. Nothing
        hidden is looked at.
        """

    def playout(self, number: int, *, fast: int = 0) -> float:
        """Return how the seat does, -1 to 1, that plays a move, after which all play by the quick policy.

        The position itself doesn't change.
        """

    def next_turn(self, number: int) -> Position:
        """Return the position before the seat's next turn, after a move and quick ones of all.

        It is the end if the game ends before. The position itself doesn't change.
        """

    def random_playout(self, *, seed: int) -> _Outcome:
        """Return how the game ends when all play at random; the position itself doesn't change."""

    def features(self) -> list[list[float]]:
        """Return a row for each seat: those of `happycity_evaluation.features.position_rows`."""

    def observation(self, seat: int) -> bytes:
        """Return the position as a seat sees it: 32-bit floats as in `happycity_envs.selfplay`."""

class Worlds:
    """Samples positions that look like a view: what is hidden is drawn at random."""

    def __new__(cls, view: bytes) -> Worlds:
        """Take the bytes of a `happycity.v1.View`."""

    @property
    def fast(self) -> int:
        """The rivals that have bought a card in every turn so far: bit n is set for seat n."""

    def sample(self, *, seed: int) -> Position:
        """Draw a world."""

    def sample_as_python(self, rng: random.Random) -> Position:
        """Draw the world that `Game.worlds` yields with the same generator."""

class Network:
    """The champion's network, `happycity_evaluation.network.Network`."""

    def __new__(cls, weights: list[list[int]]) -> Network:
        """Take weights and biases of three layers, in turn, as whole numbers of 1/4096.

        The weights of a layer are those of its first input for all neurons, then those of the next one.
        """

    def strengths(self, rows: list[list[float]]) -> list[float]:
        """Return the strength of each raw row; only differences between them mean anything."""

    def round_later(self, position: Position, *, games: int, seed: int) -> list[float]:
        """Return how each seat is expected to do, -1 (last) to 1 (first), a round later at the seat's turn.

        This is the mean of games in which all play as the planner until then. What is hidden is drawn again
        for each of them, by the seed.
        """

class Champion:
    """The reference bot champion at one seat: it remembers a turn from one decision to the next."""

    def __new__(
        cls,
        network: Network,
        *,
        trials: int = 0,
        seconds: float = 0.0,
        near: float = 0.0,
        most: int = 1,
        confidence: float = 1.0,
    ) -> Champion:
        """Take what trials cost for one decision, a number or else a time, and what is tried.

        These are the `most` best moves, at most `near` behind the best one; the first judgement of a move
        counts as `confidence` trials.
        """

    def plan(self, position: Position, *, ahead: bool = False) -> tuple[list[float], float]:
        """Return the worth of each legal move by the network, and that of buying nothing or declining.

        With `ahead`, draws are weighed card by card, by what is left in the decks, and not by the mean over
        all cards of a deck. Nothing hidden is looked at.
        """

    def pick(self, worlds: Worlds, rng: random.Random, moves: list[tuple[int, float]]) -> int:
        """Return the move that does best in trials, of moves with their worths.

        The worlds are those that `Game.worlds` yields with the same generator. All seats play by the quick
        policy up to the next turn of the seat, where the network values the position.
        """

def play(
    config: _Config, seed: int, lineup: list[Champion | None], explored: float
) -> tuple[bytes, _Outcome]:
    """Play a deal with a champion or the planner (None) in each seat; explored is the share of random moves.

    Return the rows of features of all seats before each turn, 32-bit floats, and how the game ended.
    """

class Games:
    """Games in step, for `happycity_envs.selfplay`: their rows are written into buffers of the caller.

    The buffers hold 32-bit floats and bytes: for each game a row of an observation of its seat to decide, a
    byte for each move of the game (1 if it is legal, or else 0), and that seat.
    """

    def __new__(cls, config: _Config, rows: object, masks: object, seats: object) -> Games: ...
    def deal(self, row: int, seed: int) -> None:
        """Start a game in a row; rows are begun in their order."""

    def play(self, actions: list[int], rows: list[int]) -> list[int]:
        """Play an action in the game of each row, unless one isn't legal.

        Return the rows of games that ended, which aren't written.
        """

    def play_randomly(self, rows: list[int], seats: list[int]) -> list[int]:
        """Let seats play at random in the game of each row, as long as one of them is to decide.

        Bit n of `seats` is set for such a seat n of the row's game. Return the rows of games that ended; they
        aren't written.
        """

    def actions(self, row: int) -> bytes:
        """Return what was played in the game of a row, a byte each."""

    def position(self, row: int) -> Position:
        """Return a copy of the game of a row."""
