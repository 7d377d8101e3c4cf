"""The languages of what people see in a browser: texts, forms of plurals, and numbers.

The sources are in English. `texts/*.po` have each of their texts in another language, in the form of gettext,
and are read as they are: nothing has to be compiled. `python -m tools texts` keeps them up to date.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from io import BytesIO
from typing import Final

from babel import Locale
from babel.dates import format_skeleton, format_time
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, get_decimal_symbol

from happycity.records.record import Json

LANGUAGES: Final = {
    "en": "English",
    "et": "Eesti",
    "it": "Italiano",
    "pl": "Polski",
    "uk": "Українська",
}
"""The languages by their codes, with their own names."""

_SAMPLES = range(30)  # numbers that have all forms of plurals between them


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A language, and how it says things."""

    code: str
    texts: NullTranslations = field(default_factory=NullTranslations)
    script_texts: Json = field(default_factory=dict)
    """The texts of scripts by the English ones; those of numbers by form, as `Intl.PluralRules` has them."""

    def whole(self, number: float) -> str:
        """Return a number without decimals, its digits in groups."""
        return format_decimal(number, format="#,##0", locale=self.code)

    def decimals(self, number: float, places: int) -> str:
        """Return a number with decimals."""
        return self._written(f"{number:.{places}f}")

    def short(self, number: float) -> str:
        """Return a bot's number in at most 4 significant digits; the viewer's script does the same."""
        return self._written(f"{number:.4g}")

    def think_time(self, milliseconds: int) -> str:
        """Return how long a bot thought; the viewer's script writes it in the same way."""
        if milliseconds >= 1000:
            return self.texts.gettext("%(number)s s") % {"number": self.decimals(milliseconds / 1000, 1)}
        number = str(milliseconds) if milliseconds else "<1"
        return self.texts.gettext("%(number)s ms") % {"number": number}

    def moment(self, seconds: float, *, date: str = "yMMMd", hour: bool = True) -> str:
        """Return a moment of Unix time in UTC, as a script writes it; `date` is a skeleton of CLDR."""
        moment = datetime.fromtimestamp(seconds, UTC)
        text = format_skeleton(date, moment, locale=self.code)
        return f"{text}, {format_time(moment, 'short', locale=self.code)}" if hour else text

    def _written(self, number: str) -> str:
        return number.replace(".", get_decimal_symbol(self.code))


@cache
def language(code: str) -> Language:
    """Return one of the languages."""
    return Language(code) if code == "en" else translated(code, catalogue(code))


def catalogue(code: str) -> Catalog:
    """Return the texts of a language as its file has them."""
    with files("happycity_viewer").joinpath("texts", f"{code}.po").open("rb") as file:
        return read_po(file, locale=code)


def translated(code: str, texts: Catalog) -> Language:
    """Return a language that has these texts."""
    compiled = BytesIO()
    write_mo(compiled, texts)
    compiled.seek(0)
    translations = GNUTranslations(compiled)
    script_texts: Json = {}
    for message in texts:
        if not any(path.endswith(".js") for path, _ in message.locations):
            continue
        if isinstance(message.id, str):
            script_texts[message.id] = translations.gettext(message.id)
        else:
            script_texts[message.id[0]] = _forms(code, translations, *message.id)
    return Language(code, translations, script_texts)


def _forms(code: str, texts: NullTranslations, singular: str, plural: str) -> dict[str, str]:
    """Return a text's forms by the names that CLDR gives them."""
    locale = Locale.parse(code)
    return {str(locale.plural_form(number)): texts.ngettext(singular, plural, number) for number in _SAMPLES}


def preferred(wanted: str) -> str:
    """Return which of the languages suits best to an `Accept-Language` header; English if none does."""
    entries = re.findall(r"(?:^|,)\s*([a-z]+)[\w-]*(?:\s*;\s*q=([01](?:\.\d*)?))?\s*(?=,|$)", wanted.lower())
    found = [(float(weight or 1), -number, code) for number, (code, weight) in enumerate(entries)]
    known = [one for one in found if one[2] in LANGUAGES and one[0]]
    return max(known, default=(1.0, 0, "en"))[2]
