"""What the widgets of a form say and the document has not taken yet: each change once, none lost, none from before.

Streamlit calls a widget's callback only where the run that brought the change is not interrupted, and calls that of a
widget that nobody touched where the run before was. So forms have no callbacks. A field registers here as it is drawn;
before anything else happens, in a callback or a page, every field that says something else than it last said is taken.
`st.session_state.to_dict` is read, which, unlike one of its entries, is no place where Streamlit interrupts a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

_KEY: Final = "pending-fields"


@dataclass
class _Field:
    said: Any
    take: Callable[[Any], None]


class Pending:
    """The fields that are drawn, by the keys of their widgets, with what each said last."""

    def __init__(self) -> None:
        self._fields: dict[str, _Field] = {}
        self._drawn: set[str] = set()

    def draw(self, key: str, shown: Any, take: Callable[[Any], None]) -> None:
        """Register a widget that shows a value; `take` gets what it says instead, once per change."""
        self._drawn.add(key)
        if key in self._fields:
            self._fields[key].take = take
        else:
            self._fields[key] = _Field(deepcopy(shown), take)

    def changes(self, values: dict[str, Any]) -> Iterator[Callable[[], None]]:
        """What has to be taken, in the order in which the fields stand."""
        for key, field in list(self._fields.items()):
            if key in values and values[key] != field.said:
                field.said = deepcopy(values[key])
                yield lambda field=field: field.take(field.said)  # type: ignore[misc]

    def finish(self) -> None:
        """The page has been drawn whole: what was not drawn with it is gone."""
        self._fields = {key: field for key, field in self._fields.items() if key in self._drawn}
        self._drawn = set()


def pending() -> Pending:
    """The session's fields."""
    fields = st.session_state.to_dict().get(_KEY)
    if not isinstance(fields, Pending):
        fields = st.session_state[_KEY] = Pending()
    return fields


def said(key: str) -> Any:
    """What a widget says, for its callback; asking does not interrupt the run."""
    return st.session_state.to_dict().get(key)
