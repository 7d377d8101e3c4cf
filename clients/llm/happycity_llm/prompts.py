"""What a model reads: the rules, the whole position at each decision, and what was wrong with an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from happycity import Config, ConfigError, Mode, Scoring, View
from happycity.rules.cards import Card, CardKind
from happycity.rules.cities import Cities
from happycity.rules.deals import DECKS, LAST_ROUND, START_COINS
from happycity.text.board import SeatTotals, board_lines, deck_prices, plain
from happycity.text.words import events_in_words, move_in_words, plural
from happycity_client import Decision, GameStarted
from happycity_runtime.files import read_text

JSON_ANSWER = 'Answer with JSON: {"move": "..."}'
"""How a model answers."""
SHOWN_CHARACTERS = 300
"""How much of an illegal answer is shown to the model again."""

_RULES = "points last_round start deck_1 deck_2 deck_3 coin expert"
_FIELDS: Mapping[str, frozenset[str]] = {
    name: frozenset(fields.split())
    for name, fields in {
        "rules.txt": _RULES,
        "system.txt": f"players mode seat rules {_RULES}",
        "turn.txt": "events position standing effects own_moves moves question",
        "retry.txt": "answer reason question",
    }.items()
}
"""The fields of each template."""


class Prompts:
    """The texts for a model, made from templates: those of this package, or a user's own."""

    def __init__(self, folder: Path | None = None, *, blind: bool = False, answer: str = JSON_ANSWER) -> None:
        """Read the templates; `folder` may have its own rules.txt, system.txt, turn.txt and retry.txt.

        With `blind` no text names the legal moves. `answer` says how to answer, without a full stop.
        ConfigError if the folder has no template, or one that can't be read or has an unknown field.
        """
        if folder is not None and not any((folder / name).exists() for name in _FIELDS):
            raise ConfigError(f"--prompts: {folder} has none of {', '.join(_FIELDS)}")
        self._blind = blind
        self._answer = answer
        self._templates = {name: _template(name, folder) for name in _FIELDS}

    def rules(self, config: Config) -> str:
        """Return the rules of a kind of game."""
        return self._fill("rules.txt", **_rules(config))

    def system(self, start: GameStarted) -> str:
        """Return the rules, as a seat of a game has to know them."""
        config = start.config
        return self._fill(
            "system.txt",
            players=str(config.players),
            mode=config.mode.value,
            seat=str(start.seat + 1),
            rules=self.rules(config),
            **_rules(config),
        )

    def turn(self, decision: Decision, start: GameStarted, own_moves: Sequence[str]) -> str:
        """Return the position of a decision with the question; `own_moves` are the seat's earlier ones."""
        view = decision.view
        events = "".join(f"{line}.\n" for line in events_in_words(decision.events, start.bots))
        return self._fill(
            "turn.txt",
            events=f"Since your last move:\n{events}\n" if events else "",
            position=plain(board_lines(view, bots=start.bots), ascii_only=True),
            standing=_standing(view),
            effects=_effects(view.specials, [card for city in view.cities for card in city]),
            own_moves=f"Your moves so far: {', '.join(own_moves)}.\n" if own_moves else "",
            moves="" if self._blind else ", ".join(map(str, decision.moves)),
            question=self.question(decision, start.bots),
        )

    def retry(self, answer: str, reason: str, decision: Decision, bots: Sequence[str]) -> str:
        """Return what a model reads after an answer that was not a legal move."""
        return self._fill("retry.txt", answer=answer, reason=reason, question=self.question(decision, bots))

    def question(self, decision: Decision, bots: Sequence[str]) -> str:
        """Return what is asked, with the legal moves unless the model plays blind."""
        if self._blind:
            return f"You have to decide: which move? {self._answer}"
        moves = "".join(
            f"- {move}: {move_in_words(move, decision.coins(move), bots)}\n" for move in decision.moves
        )
        return (
            f"Your legal moves:\n{moves}{self._answer}, with one of these moves as it is written before the "
            "colon."
        )

    def _fill(self, name: str, **fields: str) -> str:
        return self._templates[name].substitute(fields).strip() + "\n"


def shortened(answer: str) -> str:
    """Return an answer as the model sees it again: cut short, as a huge one would fill its context."""
    return answer.strip()[:SHOWN_CHARACTERS] or "(empty)"


def _template(name: str, folder: Path | None) -> Template:
    own = folder / name if folder is not None else None
    try:
        if own is not None and own.exists():
            text = read_text(own)
        else:
            text = files("happycity_llm").joinpath("templates", name).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ConfigError(f"--prompts: {own} can't be read: {error}") from None
    template = Template(text)
    if not template.is_valid():
        raise ConfigError(f"--prompts: {own}: a $ that begins no field must be written $$")
    unknown = sorted(set(template.get_identifiers()) - _FIELDS[name])
    if unknown:
        known = ", ".join(f"${field}" for field in sorted(_FIELDS[name]))
        raise ConfigError(f"--prompts: {own}: there is no ${unknown[0]}; there are {known}")
    return template


def _rules(config: Config) -> dict[str, str]:
    """Return the fields of the rules."""
    return {
        "points": f"its inhabitants {'times' if config.scoring is Scoring.PRODUCT else 'plus'} its hearts",
        "last_round": str(LAST_ROUND),
        "start": _start(config),
        **{f"deck_{deck}": "{} to {}".format(*deck_prices(deck)) for deck in DECKS},
        "coin": plural(1, "coin"),
        "expert": _EXPERT if config.mode is Mode.EXPERT else "",
    }


def _start(config: Config) -> str:
    coins = f"Each player begins with {plural(START_COINS, 'coin')} and a Happy Market"
    if config.mode is Mode.EXPERT:
        return f"{coins} of a chosen colour, which counts wherever colours count."
    return f"{coins}, which has an income of 1 and no colour."


def _standing(view: View) -> str:
    """Return in one line what the seat to decide has."""
    own = SeatTotals.of(Cities.of_view(view), view.seat)
    has = f"{plural(view.coins[view.seat], 'coin')}, income {own.income}, {own.inhabitants} inhabitants"
    return f"{has}, {plural(own.hearts, 'heart')}, {plural(len(view.cities[view.seat]), 'card')}"


def _effects(specials: Sequence[Card], built: Sequence[Card]) -> str:
    """Return what the specials on the table and in the cities do, for the expert game; "" without any."""
    named = {card.id: card for card in (*specials, *built) if card.kind is CardKind.SPECIAL}
    lines = [f"- {card.id}: {card.effect_text}\n" for card in named.values() if card.effect_text]
    return f"What specials do:\n{''.join(lines)}" if lines else ""


_EXPERT = """
Expert game: before the first round each seat chooses the colour of its Happy Market. Specials have effects,
which are listed at each decision. An immediate effect happens when the card is taken; incomes and counts
follow the position at the time. The owner of the Sphinx chooses at the end which special it copies.
"""
