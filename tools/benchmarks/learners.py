"""Measure steps a second of self-play and the environments, next to OpenSpiel's card games.

All in one run, by turns. A step is one decision of one seat by a random legal action, with the observation of
that seat; chance nodes are played, and not counted. OpenSpiel's own games are C++, played through its Python
interface, as learners in Python do. Seconds are those of the processor.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

import happycity_envs.openspiel
from happycity import Config, Game
from happycity.records.random_games import play_random_game
from happycity_envs.gymnasium import HappyCityEnv
from happycity_envs.pettingzoo import env, raw_env
from happycity_envs.selfplay import ACTION_COUNT, Observations, SelfPlay
from tools.benchmarks.harness import additions

REPEATS = 3
SECONDS = 2.0
PLAYERS = 4
BATCHES = (64, 256, 1024)
CARD_GAMES = ("hearts", "spades", "gin_rummy", "euchre", "skat")


def engine() -> float:
    """Return decisions a second of the bare engine, dealing included, without observations."""
    rng, started, steps, seed = random.Random(1), time.process_time(), 0, 0
    while time.process_time() - started < SECONDS:
        steps += play_random_game(Game.deal(Config(players=PLAYERS), seed=seed), rng)
        seed += 1
    return steps / (time.process_time() - started)


def selfplay(games: int) -> float:
    """Return steps a second of self-play, the choice of random legal actions included."""
    rng, play = np.random.default_rng(1), SelfPlay(Config(players=PLAYERS), games=games, seed=1)
    noise = rng.random((games + 64, ACTION_COUNT), dtype=np.float32)
    legal = np.empty((games, ACTION_COUNT), np.float32)
    started, steps = time.process_time(), 0
    while time.process_time() - started < SECONDS:
        shift = steps // games % 64
        play.step(np.multiply(noise[shift : shift + games], play.arrays.masks, out=legal).argmax(1))
        steps += games
    return steps / (time.process_time() - started)


def pettingzoo(make: Callable[..., Any]) -> float:
    """Return steps a second of the PettingZoo environment, with its wrappers or without."""
    game, rng, steps = make(players=PLAYERS), random.Random(1), 0
    started = time.process_time()
    while time.process_time() - started < SECONDS:
        game.reset(seed=steps)
        for _ in game.agent_iter():
            observation, _, termination, truncation, _ = game.last()
            done = termination or truncation
            game.step(None if done else int(rng.choice(np.flatnonzero(observation["action_mask"]))))
            steps += not done
    return steps / (time.process_time() - started)


def gymnasium() -> float:
    """Return steps a second of the Gymnasium environment: own decisions, with three random bots."""
    game, rng, steps = HappyCityEnv(opponents=("random",) * (PLAYERS - 1)), random.Random(1), 0
    started = time.process_time()
    while time.process_time() - started < SECONDS:
        _, info = game.reset(seed=steps)
        done = False
        while not done:
            _, _, done, _, info = game.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
            steps += 1
    return steps / (time.process_time() - started)


def openspiel(name: str) -> float:
    """Return player decisions a second of a game of OpenSpiel, with the tensor that it has, as an array."""
    game, rng, steps = pyspiel.load_game(name), random.Random(1), 0
    observed = game.get_type().provides_observation_tensor
    observation = make_observation(game, None if observed else INFO_STATE_OBS_TYPE)
    started = time.process_time()
    while time.process_time() - started < SECONDS:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                actions, weights = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(actions, weights)[0])
                continue
            observation.set_from(state, state.current_player())
            state.apply_action(rng.choice(state.legal_actions()))
            steps += 1
    return steps / (time.process_time() - started)


def main() -> None:
    """Measure everything `REPEATS` times by turns and print the medians."""
    size = Observations(PLAYERS).size
    subjects: dict[str, Callable[[], float]] = {
        "engine alone, no observations": engine,
        **{f"SelfPlay, {games} games": partial(selfplay, games) for games in BATCHES},
        "PettingZoo, without wrappers": lambda: pettingzoo(raw_env),
        "PettingZoo": lambda: pettingzoo(env),
        "Gymnasium, against 3 random bots": gymnasium,
        "OpenSpiel, Happy City (Python)": lambda: openspiel(happycity_envs.openspiel.NAME),
        **{f"OpenSpiel, {name} (C++)": lambda name=name: openspiel(name) for name in CARD_GAMES},  # type: ignore[misc]
    }
    measured: dict[str, list[float]] = {subject: [] for subject in subjects}
    loops = []
    for repeat in range(REPEATS):
        print(f"run {repeat + 1} of {REPEATS} (Ctrl-C stops it)", file=sys.stderr)
        loops.append(additions())
        for subject, measure in subjects.items():
            measured[subject].append(measure())
    print(
        f"plain Python loop: {median(loops):.1f} million additions/s; {PLAYERS} seats, {size} numbers a row"
    )
    for subject, rates in measured.items():
        print(f"{subject:<36}{median(rates):>9,.0f} steps/s")
