"""Happy City as a game of OpenSpiel; importing this module registers it.

    import happycity_envs.openspiel
    game = pyspiel.load_game("python_happy_city(players=4,mode=expert)")

Draws, the set-up of the specials and the box are chance nodes over the cards that no seat has seen, so a
state holds no hidden order and a search can't look ahead in a clone. Everything that has happened is public:
OpenSpiel calls that perfect information.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyspiel

from happycity import CARDS, Card, Config, Deal, Game
from happycity.records.record import config_json
from happycity.rules.cards import SPECIALS, deck_cards, specials_of
from happycity.rules.deals import DECKS, LAST_ROUND, MAX_PLAYERS, MIN_PLAYERS
from happycity.text.board import board_text
from happycity_envs.options import game_config
from happycity_envs.selfplay import ACTION_COUNT, ACTIONS, Observations, action_of, rewards_of

NAME = "python_happy_city"
"""The name by which `pyspiel.load_game` knows the game."""


_PARAMETERS = config_json(Config())
_CHOICES_OF_A_TURN = 6  # discard, up to three draws, purchase, special

_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Happy City",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.PERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.CONSTANT_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_PLAYERS,
    min_num_players=MIN_PLAYERS,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    parameter_specification=_PARAMETERS,
)


def chance_action(card: Card) -> int:
    """Return the action of a chance node at which `card` comes next."""
    return card.number - 1


class HappyCityGame(pyspiel.Game):  # type: ignore[misc]  # pyspiel has no types
    """The game with its parameters: players (2-5), mode (family, expert) and scoring (product, sum)."""

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        """Take the parameters of `pyspiel.load_game`.

        Raises:
            ConfigError: a parameter can't be used.
        """
        chosen = {**_PARAMETERS, **(params or {})}
        self.config = game_config(int(chosen["players"]), chosen["mode"], chosen["scoring"])
        turns = LAST_ROUND * self.config.players
        info = pyspiel.GameInfo(
            num_distinct_actions=ACTION_COUNT,
            max_chance_outcomes=len(CARDS),
            num_players=self.config.players,
            min_utility=-1.0,
            max_utility=1.0,
            utility_sum=0.0,
            # Besides the turns: a market for each seat, and what the Sphinx copies.
            max_game_length=turns * _CHOICES_OF_A_TURN + self.config.players + 1,
        )
        super().__init__(_TYPE, info, params or {})
        own = self.observations = Observations(self.config.players)
        seats = slice(own.table_size, own.table_size + own.players * own.seat_size)
        self.pieces = [
            (plane.name, plane.each_seat, seats if plane.each_seat else place)
            for plane, seat, place in own.parts()
            if not seat
        ]

    def new_initial_state(self) -> HappyCityState:
        """Return the state before the specials are set up."""
        return HappyCityState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Return how many cards can be turned over: specials, draws, and one of the box."""
        return self.config.players + 2 + 3 * LAST_ROUND * self.config.players + 1

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: dict[str, Any] | None = None
    ) -> TensorObserver:
        """Return what writes the observation (or the information state) of a state into a tensor."""
        if params:
            raise ValueError(f"observation parameters are not supported: {', '.join(params)}")
        asked = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        return TensorObserver(self, perfect_recall=asked.perfect_recall, public=asked.public_info)


class HappyCityState(pyspiel.State):  # type: ignore[misc]  # pyspiel has no types
    """A position: the specials that are set up so far, then an open game of the engine."""

    def __init__(self, game: HappyCityGame, position: Game | None = None) -> None:
        """Begin before the set-up, or at an open position (`Game.opened`), which then has no history."""
        super().__init__(game)
        self.config = game.config
        self.specials: tuple[Card, ...] = ()
        """The specials of the set-up, as far as they are known."""
        self.position = position
        """The game; None during the set-up."""

    def current_player(self) -> int:
        """Return the seat to decide, or that a card comes next, or that the game is over."""
        if self.position is None or self.position.awaited:
            return int(pyspiel.PlayerId.CHANCE)
        if self.position.outcome is not None:
            return int(pyspiel.PlayerId.TERMINAL)
        return self.position.seat

    def is_terminal(self) -> bool:
        """Return whether the game is over."""
        return self.position is not None and self.position.outcome is not None

    def returns(self) -> list[float]:
        """Return each seat's reward by its place, from -1 to 1; 0 before the end."""
        if self.position is None or self.position.outcome is None:
            return [0.0] * self.config.players
        return list(rewards_of(self.position.outcome))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the cards that may come next, with their probabilities; equal cards are one outcome."""
        cards = self._possible_cards()
        counts = sorted(Counter(map(chance_action, cards)).items())
        return [(action, copies / len(cards)) for action, copies in counts]

    def _possible_cards(self) -> tuple[Card, ...]:
        if self.position is not None:
            return self.position.awaited
        return tuple(card for card in specials_of(self.config.mode) if card not in self.specials)

    def _legal_actions(self, player: int) -> list[int]:
        assert self.position is not None
        return sorted(map(action_of, self.position.legal_moves))

    def _apply_action(self, action: int) -> None:
        if self.position is None:
            self._set_up(CARDS[action])
        elif self.position.awaited:
            self.position.reveal(CARDS[action])
        else:
            self.position.apply(ACTIONS[action])

    def _set_up(self, special: Card) -> None:
        self.specials = (*self.specials, special)
        if len(self.specials) == self.config.players + 2:
            # In table order, as the order in which they came means nothing.
            known = [card for card in SPECIALS if card in self.specials]
            box = [card for card in specials_of(self.config.mode) if card not in known]
            decks = deck_cards(DECKS[0]), deck_cards(DECKS[1]), deck_cards(DECKS[2])
            self.position = Game(Deal(self.config, 0, decks, tuple(known), tuple(box))).opened()

    def _action_to_string(self, player: int, action: int) -> str:
        return f"card {CARDS[action]}" if player == pyspiel.PlayerId.CHANCE else str(ACTIONS[action])

    def __str__(self) -> str:
        if self.position is None:
            return "specials: " + " ".join(map(str, self.specials))
        board = board_text(self.position)
        awaited = " ".join(dict.fromkeys(map(str, self.position.awaited)))
        return f"{board}\n\nawaited: {awaited}" if awaited else board


class TensorObserver:
    """Writes states into a tensor: an observation, or with perfect recall an information state.

    Both tensors are the arena's observation (`happycity_envs.selfplay.Observations`): nothing else of the
    past matters to the future. All is public, so what is not public is all 0 and "".
    """

    def __init__(self, game: HappyCityGame, *, perfect_recall: bool, public: bool) -> None:
        self._recall = perfect_recall
        self._public = public
        self._game = game
        own = game.observations
        self.tensor = np.zeros(own.size, np.float32)
        # OpenSpiel's tensor is these pieces in this order.
        self.dict: dict[str, np.ndarray[Any, np.dtype[np.float32]]] = {
            "seats" if each_seat else name: self.tensor[place] for name, each_seat, place in game.pieces
        }
        self.dict["seats"] = self.dict["seats"].reshape(own.players, own.seat_size)

    def set_from(self, state: HappyCityState, player: int) -> None:
        """Write a state as `player` sees it; before the end of the set-up all is 0 but the specials."""
        if not self._public:
            return
        if state.position is not None:
            self.tensor[:] = self._game.observations.of(state.position, player)
            return
        self.tensor.fill(0)
        for card in state.specials:
            self.dict["specials"][card.number - SPECIALS[0].number] = 1

    def string_from(self, state: HappyCityState, player: int) -> str:
        """Return a state as text; an information state is the history."""
        if not self._public:
            return ""
        return str(state.history_str()) if self._recall else f"seat {player + 1}\n{state}"


pyspiel.register_game(_TYPE, HappyCityGame)
