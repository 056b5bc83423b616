"""The input of a form's widgets that the document does not have yet: each change is applied exactly once.

Streamlit calls a widget's callback only if the run that brought the change is not interrupted. If the previous run was
interrupted, it also calls the callbacks of untouched widgets. Therefore forms have no callbacks. A field registers
here when it is drawn. Before anything else happens in a callback or a page, the changed value of every field is
applied. The values are read by `st.session_state.to_dict`: unlike access to one entry, Streamlit cannot interrupt it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from ui.shell.kept import kept

_KEY: Final = "pending-fields"


@dataclass
class _Field:
    last_value: Any
    take: Callable[[Any], None]


class Pending:
    """The drawn fields by the keys of their widgets, each with its last value."""

    def __init__(self) -> None:
        self._fields: dict[str, _Field] = {}
        self._drawn: set[str] = set()

    def draw(self, key: str, shown: Any, take: Callable[[Any], None]) -> None:
        """Register a widget that shows a value; `take` is called with the new value, once per change."""
        self._drawn.add(key)
        if key in self._fields:
            self._fields[key].take = take
        else:
            self._fields[key] = _Field(deepcopy(shown), take)

    def changes(self, values: dict[str, Any]) -> Iterator[Callable[[], None]]:
        """The actions that apply the changed values, in the order of the fields."""
        for key, field in list(self._fields.items()):
            if key in values and values[key] != field.last_value:
                field.last_value = deepcopy(values[key])
                yield lambda field=field: field.take(field.last_value)  # type: ignore[misc]

    def finish(self) -> None:
        """Remove the fields that were not drawn, after the whole page was drawn."""
        self._fields = {key: field for key, field in self._fields.items() if key in self._drawn}
        self._drawn = set()


def pending() -> Pending:
    """The session's fields."""
    return kept(_KEY, Pending)


def widget_value(key: str) -> Any:
    """The value of a widget, for its callback; reading it here cannot interrupt the run."""
    return st.session_state.to_dict().get(key)
