"""What all commands share: how their help is laid out."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class GroupedCommand(TyperCommand):
    """A command whose help lists the options by their groups, those without one under "Options"."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments, then options, group by group in the order of their first options."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        self.add_texts()
        for parameter in self.get_params(ctx):
            if (record := parameter.get_help_record(ctx)) is not None:
                is_argument = parameter.param_type_name == "argument"
                group = (
                    "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None) or "Options"
                )
                groups.setdefault(group, []).append(record)
        for group, records in groups.items():
            if records:
                with formatter.section(group):
                    formatter.write_dl(records)

    def add_texts(self) -> None:
        """Give the options that are settings their texts, which take long to read; see `flags_of`."""
        texts: dict[str, str] = getattr(self.callback, "flag_texts", dict)()
        for parameter in self.params:
            if parameter.name in texts:
                parameter.help = texts[parameter.name]  # type: ignore[attr-defined]  # an option has one
