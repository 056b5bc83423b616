"""The options of a declared table as a source takes them, one by one; what is left over is noted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, get_args

from engine.contract.declared_table import DeclaredTable, Filled, Metadata, ReadTable
from engine.contract.parameters import Parameters
from engine.model.options import milliseconds
from engine.reading.servers.secrets import is_named, kept_options, named_in, variable_of


class DeclaredOptions:
    """The options of a table. is_kept: without the secrets in any of them."""

    def __init__(self, table: DeclaredTable, *, is_kept: bool = False) -> None:
        self.table = table
        self.left = {name: text for name, text in table.options.items() if name != "connector"}
        self.notes: list[str] = []
        if is_kept:
            kept = kept_options(table)
            if any(kept[name] != text for name, text in self.left.items()):
                named = ", ".join(dict.fromkeys(named_in(kept.values())))
                self.note(f"its secrets are not kept. Put them into the environment: the node names {named}.")
            self.left = {name: kept[name] for name in self.left}

    def note(self, sentence: str) -> None:
        """Tell the user something about the table."""
        self.notes.append(f"{self.table.name}: {sentence}")

    def take(self, option: str, default: str = "") -> str:
        """The text of an option."""
        return self.left.pop(option, default)

    def beginning(self, prefix: str) -> dict[str, str]:
        """All options with this beginning, without it."""
        names = [name for name in self.left if name.startswith(prefix)]
        return {name.removeprefix(prefix): self.left.pop(name) for name in names}

    def number(self, option: str, read: Callable[[str], Any] = int) -> Any:
        """A number; None if it is not given. Raises StudioError."""
        text = self.left.pop(option, None)
        try:
            return None if text is None else read(text)
        except ValueError as error:
            message = f"the option {option!r} is a number, not {text!r}."
            raise self.table.rejected(message) from error

    def duration_ms(self, option: str, example: str = "5 s", least: int = 0) -> int | None:
        """A duration; None if it is not given. Raises StudioError."""
        text = self.left.pop(option, None)
        duration_ms = None if text is None else milliseconds(text)
        if text is not None and (duration_ms is None or duration_ms < least):
            message = f"the option {option!r} is a time such as {example}, not {text!r}."
            raise self.table.rejected(message)
        return duration_ms

    def choice(self, option: str, choices: Sequence[str], default: str | None = None) -> str:
        """One of several words; the first by default. Raises StudioError."""
        text = self.left.pop(option, choices[0] if default is None else default)
        if text not in choices:
            message = f"{option!r} is {text!r}. Available: {', '.join(choices)}."
            raise self.table.rejected(message)
        return text

    def password(self, option: str) -> str:
        """A password as the name of a variable, with a note if it is none."""
        password = self.take(option)
        if is_named(password):
            return password
        variable = variable_of(self.table.name, "password")
        self.note(f"its password is not kept. Put it into the environment variable {variable}, which the node names.")
        return f"${{env:{variable}}}"

    def read(
        self,
        parameters: dict[str, Any],
        of_no_matter: str = "",
        metadata: tuple[Metadata, ...] = (),
        filled: tuple[Filled, ...] = (),
    ) -> ReadTable:
        """The table as a source, with a note on each option that is left. of_no_matter: a pattern of those to skip."""
        for option in self.left:
            if not re.fullmatch(of_no_matter, option):
                self.note(f"the option {option!r} is ignored; it has no effect here.")
        if metadata:
            parameters = parameters | {"metadata": [{"name": column.name, "of": column.key} for column in metadata]}
        return ReadTable(parameters, tuple(self.notes), metadata, filled)


def choices_of(source: type[Parameters], field: str) -> tuple[str, ...]:
    """The words that a parameter can be."""
    words = get_args(source.model_fields[field].annotation)
    return tuple(word for part in words for word in (get_args(part) or (part,)) if isinstance(word, str))
