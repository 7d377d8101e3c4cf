"""The licences of what the arena depends on, as the installed packages state them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, metadata

UNKNOWN = "unknown"


def licences(names: Iterable[str]) -> str:
    """Return a line for each package: name, version and licence.

    Packages for other systems, which are not installed here, are left out.
    """
    rows = []
    for name in sorted(set(names)):
        try:
            rows.append((name, metadata(name)["Version"], _licence(name)))
        except PackageNotFoundError:
            continue
    width = max(len(f"{name} {number}") for name, number, _ in rows)
    return "".join(f"{f'{name} {number}':{width}}  {licence}\n" for name, number, licence in rows)


def _licence(name: str) -> str:
    """Return the expression, else the classifiers, else the first line of the text that a package states."""
    fields = metadata(name)
    if fields["License-Expression"]:
        return str(fields["License-Expression"])
    classifiers = [
        each.rpartition(" :: ")[2]
        for each in fields.get_all("Classifier", [])
        if each.startswith("License ::")
    ]
    text = (fields["License"] or "").strip().partition("\n")[0]
    return ", ".join(classifiers) or text or UNKNOWN
