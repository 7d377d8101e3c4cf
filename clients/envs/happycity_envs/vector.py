"""Many tables in lockstep for learners: one seat of each learns, policies on batches play the others.

    import gymnasium
    envs = gymnasium.make_vec("happycity_envs.gymnasium:HappyCity-v0", num_envs=256)

Opponents are asked about all tables together that wait for them, so a network, such as a past self, is
one call for all. Every observation is a position in which the own seat decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from happycity import Move
from happycity.errors import FieldError
from happycity.match import check_reference_bot
from happycity.rules.deals import MAX_PLAYERS, MIN_PLAYERS
from happycity_bots import BOTS
from happycity_client import Bot, Decision, GameStarted
from happycity_envs.options import enum_member, game_config
from happycity_envs.selfplay import ACTION_COUNT, LastGame, Observations, Reward, SelfPlay, action_of

BatchPolicy = Callable[[NDArray[np.float32], NDArray[np.int8]], Any]
"""Chooses a legal action for each row of observations (rows x size) and masks (rows x `ACTION_COUNT`)."""
Opponent = str | type[Bot] | BatchPolicy
"""The name of a reference bot, a class of bots of the SDK, or a policy on batches."""
_Ended = dict[int, dict[str, Any]]
"""The infos about the end of a game, by the rows whose games a step has ended."""
_Rows = NDArray[np.integer]
_MOST_DEALS: Final = 2**48
"""The first deal is drawn below it, so that no seed of a later deal is too large."""


class HappyCityVectorEnv(VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]):
    """`num_envs` tables; row i of all arrays is table i.

    `infos["action_mask"]` has the legal actions. A table whose game has ended shows the next one's first
    position (`AutoresetMode.SAME_STEP`); `infos["final_info"]` has the `points` and the `rank` of the game
    before, and `infos["final_obs"]` its end as the own seat sees it. An action that isn't legal ends the game
    with the reward -1, and there.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - theirs
        "autoreset_mode": AutoresetMode.SAME_STEP
    }

    def __init__(
        self,
        num_envs: int = 1,
        *,
        opponents: Sequence[Opponent] | str = ("greedy", "greedy", "greedy"),
        seat: int | None = None,
        mode: str = "family",
        scoring: str = "product",
        reward: str = "rank",
        shaped: bool = False,
    ) -> None:
        """Set the tables.

        Args:
            num_envs: The number of tables.
            opponents: 1 to 4, in order of turns after the own seat; reference bots also as one text, such as
                "greedy,planner". They may be exchanged in the list `opponents` of the environment, such as by
                the newest of the past selves.
            seat: The own seat from 0; None: a seat further in each next game of a table.
            mode: "family" or "expert".
            scoring: "product" or "sum".
            reward: "rank": 1 for the first to -1 for the last; "points": points / 100.
            shaped: Pay the changes of the potential too; see `SelfPlay`.

        Raises:
            ConfigError: `num_envs` is less than 1, there are not 1 to 4 opponents, no bot has such a name, or
                there is no such seat.
        """
        self.opponents = _listed(opponents)
        players = len(self.opponents) + 1
        if not MIN_PLAYERS <= players <= MAX_PLAYERS:
            raise FieldError("opponents", f"{len(self.opponents)} is not between 1 and {MAX_PLAYERS - 1}")
        if seat is not None and not 0 <= seat < players:
            raise FieldError("seat", f"{seat} is not between 0 and {players - 1}")
        self.num_envs = num_envs
        self.config = game_config(players, mode, scoring)
        self._fixed_seat = seat
        self._reward = enum_member(Reward, "reward", reward)
        self._shaped = shaped
        low, high = Observations(players).bounds()
        self.single_observation_space = spaces.Box(low, high, dtype=np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.single_action_space = spaces.Discrete(ACTION_COUNT)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._is_reset = False
        self._deal(range(num_envs), range(num_envs))

    def _deal(self, seeds: Sequence[int], seats: Sequence[int]) -> None:
        self.play = SelfPlay(
            self.config, games=self.num_envs, seed=seeds, reward=self._reward, shaped=self._shaped
        )
        """The games in lockstep, in all of which the own seat decides between two steps."""
        self.seats = np.array(seats) % self.config.players
        """The own seat of each table."""
        if self._fixed_seat is not None:
            self.seats[:] = self._fixed_seat
        # Of each table: its bots by seat with the number of events that they know.
        self._bots: list[dict[int, tuple[Bot, int]]] = [{} for _ in range(self.num_envs)]
        self._paid = np.zeros(self.num_envs, np.float32)
        self._over = np.zeros(self.num_envs, np.bool_)
        self.last_games: dict[int, LastGame] = {}
        """The games that the last step has played to their ends, by their tables."""

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal, and let the others play up to the first own decisions.

        One seed fixes all tables. Of a list, each fixes a table, which begins as one alone does with that
        seed; None is a new one.

        Raises:
            ConfigError: there are more or fewer seeds than tables.
        """
        if isinstance(seed, list):
            if len(seed) != self.num_envs:
                raise FieldError("seed", f"{len(seed)} instead of {self.num_envs}, one for each table")
            starts = [self._drawn(np_random(each)[0]) for each in seed]
        else:
            super().reset(seed=seed)
            seat, first = self._drawn(self.np_random)
            starts = [(seat + table, first + table) for table in range(self.num_envs)]
        self._deal([deal for _, deal in starts], [seat for seat, _ in starts])
        self._is_reset = True
        self._play_others({})
        return self.play.arrays.observations.copy(), self._infos()

    def _drawn(self, rng: np.random.Generator) -> tuple[int, int]:
        """Draw the own seat and the seed of a first deal."""
        return int(rng.integers(self.config.players)), int(rng.integers(_MOST_DEALS))

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[
        NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]
    ]:
        """Play an action at each table, and let the others play up to the next own decisions.

        Raises:
            ConfigError: an action is not in the action space, or there are more or fewer than tables.
            ResetNeeded: the tables haven't been reset yet.
        """
        if not self._is_reset:
            raise ResetNeeded("there are no games yet; call reset first")
        if actions.shape != (self.num_envs,) or not self.action_space.contains(actions):
            raise FieldError("actions", f"not {self.num_envs} numbers between 0 and {ACTION_COUNT - 1}")
        arrays = self.play.arrays
        self._paid.fill(0)
        self._over.fill(False)  # noqa: FBT003 - numpy's signature
        self.last_games.clear()
        ended: _Ended = {}
        legal = arrays.masks[np.arange(self.num_envs), actions] == 1
        for row in np.flatnonzero(~legal).tolist():
            self._paid[row] = -1
            ended[row] = {"final_obs": arrays.observations[row].copy(), "final_info": {"illegal": True}}
            self.play.deal_next(row)
            self._over[row] = True
            self._leave(row)
        rows = np.flatnonzero(legal)
        self.play.step(actions[rows], rows)
        self._pay(rows, ended)
        self._play_others(ended)
        infos = self._infos()
        for row, info in ended.items():
            infos = self._add_info(infos, info, row)
        over = self._over.copy()
        return arrays.observations.copy(), self._paid.astype(np.float64), over, np.zeros_like(over), infos

    def _pay(self, rows: _Rows, ended: _Ended) -> None:
        """Pay the own seats at the tables of a step, as long as the games last that the step began with."""
        play = self.play
        if self._shaped or play.last_games:  # or else no seat was paid
            going = rows[~self._over[rows]]
            self._paid[going] += play.arrays.rewards[going, self.seats[going]]
        self.last_games |= play.last_games
        for row, last in play.last_games.items():
            seat = int(self.seats[row])
            info = {"points": last.outcome.points[seat], "rank": last.outcome.ranks[seat]}
            ended[row] = {"final_obs": last.observation(seat), "final_info": info}
            self._over[row] = True
            self._leave(row)

    def _leave(self, row: int) -> None:
        if self._fixed_seat is None:
            self.seats[row] = (self.seats[row] + 1) % self.config.players
        self._bots[row] = {}

    def _play_others(self, ended: _Ended) -> None:
        seats, players = self.play.arrays.seats, self.config.players
        # By the turn after the own one: the first of equal opponents, which are asked together.
        firsts = np.array([0, *[self.opponents.index(opponent) for opponent in self.opponents]])
        random = np.array([self._random_seats(own) for own in range(players)])
        while len(waiting := (seats != self.seats).nonzero()[0]):
            whose = firsts[(seats[waiting] - self.seats[waiting]) % players]
            for first in set(whose.tolist()):
                opponent, rows = self.opponents[first], waiting[whose == first]
                if opponent == "random":
                    self.play.step_randomly(rows.tolist(), random[self.seats[rows]].tolist())
                else:
                    self.play.step(self._chosen(opponent, rows), rows)
                self._pay(rows, ended)

    def _random_seats(self, own: int) -> int:
        """Return the seats of random bots where the own seat is this one: bit n is set for seat n."""
        turns = [turn for turn, opponent in enumerate(self.opponents, start=own + 1) if opponent == "random"]
        return sum(1 << turn % self.config.players for turn in turns)

    def _chosen(self, opponent: Opponent, rows: _Rows) -> Any:
        """Return the actions of an opponent at some tables."""
        kind = BOTS[opponent] if isinstance(opponent, str) else opponent
        if isinstance(kind, type):
            return [self._chosen_by_bot(kind, row) for row in rows.tolist()]
        masks = self.play.arrays.masks[rows]
        answer = np.asarray(kind(self.play.arrays.observations[rows], masks))
        if answer.shape == masks.shape:
            return np.where(masks == 1, answer, -np.inf).argmax(1)
        if answer.shape != masks.shape[:1]:
            raise ValueError(f"the policy returned {answer.shape}, not {masks.shape[:1]} or {masks.shape}")
        return answer

    def _chosen_by_bot(self, kind: type[Bot], row: int) -> int:
        followed = self.play.follow(row)
        game, events = followed.game, followed.events
        bot, known = self._bots[row].get(game.seat, (None, 0))
        if bot is None:
            names = tuple(f"seat{each}" for each in range(self.config.players))
            seed = int(self.play.arrays.seeds[row]) * MAX_PLAYERS + game.seat
            bot = kind(GameStarted(match_id=0, config=self.config, seat=game.seat, bots=names, seed=seed))
        self._bots[row][game.seat] = bot, len(events)
        move = bot.choose(Decision.of(game, events[known:]))
        if not isinstance(move, Move):
            raise FieldError("opponents", f"{kind.__name__} doesn't return a move from `choose`")
        return action_of(move)

    def _infos(self) -> dict[str, Any]:
        every = np.ones(self.num_envs, np.bool_)
        return {"action_mask": self.play.arrays.masks.copy(), "_action_mask": every}


def _listed(opponents: Sequence[Opponent] | str) -> list[Opponent]:
    """Return opponents one by one.

    Raises:
        ConfigError: one is nothing that plays.
    """
    if callable(opponents) or not isinstance(opponents, Sequence):
        raise FieldError("opponents", "not a list of them; for a single one write (it,)")
    names = opponents.split(",") if isinstance(opponents, str) else opponents
    found = [each.strip() if isinstance(each, str) else each for each in names]
    for each in found:
        if isinstance(each, str):
            check_reference_bot(each)
        elif not callable(each):
            raise FieldError("opponents", f"{each!r} is neither a name, a class of bots, nor a policy")
    return found
