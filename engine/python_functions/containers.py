"""The containers of PyFlink's functions: rows, and the views of lists and maps in their accumulators.

    Row(1, "a"), Row(n=1, s="a")     pyflink.common.Row
    ListView(), MapView()            pyflink.table.ListView, MapView: here a list and a dict, separate for each group

Between epochs an accumulator is plain values, since workers cannot import these classes: every container is a tuple
of a letter and its parts, all other values are unchanged.

Source: pyflink.common.types, pyflink.table.data_view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

_PLAIN: Final = (type(None), bool, int, float, str, bytes, Decimal, date, datetime, time, timedelta)


class Row(list[Any]):
    """Values by place, and by name if they are named."""

    def __init__(self, *values: Any, **named: Any) -> None:
        super().__init__((*values, *named.values()))
        self.__dict__["_fields"] = list(named)

    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(self._place(at))

    def __setitem__(self, at: Any, value: Any) -> None:
        super().__setitem__(self._place(at), value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._fields:
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        message = f"{name}: write row[{name!r}] = ..., as for PyFlink's rows"
        raise AttributeError(message)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """The values by name."""
        return {
            name: value.as_dict(True) if recursive and isinstance(value, Row) else value
            for name, value in zip(self._fields, self, strict=True)
        }

    def set_field_names(self, names: Iterable[str]) -> None:
        """Set the names of the values."""
        self.__dict__["_fields"] = list(names)

    def _place(self, at: Any) -> Any:
        return self._fields.index(at) if isinstance(at, str) else at


class ListView(list[Any]):
    """A list with the methods of PyFlink's ListView."""

    def get(self) -> ListView:
        """The values."""
        return self

    def add(self, value: Any) -> None:
        """Append a value."""
        self.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        """Append values."""
        self.extend(values)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class MapView(dict[Any, Any]):
    """A dict with the methods of PyFlink's MapView."""

    def __missing__(self, key: Any) -> None:
        """A missing key gives None, as in a state of Flink."""

    def put(self, key: Any, value: Any) -> None:
        """Set the value of a key."""
        self[key] = value

    def put_all(self, values: Mapping[Any, Any]) -> None:
        """Set the values of keys."""
        self.update(values)

    def remove(self, key: Any) -> None:
        """Remove a key."""
        del self[key]

    def contains(self, key: Any) -> bool:
        """Whether the key exists."""
        return key in self

    def is_empty(self) -> bool:
        """Whether there are no keys."""
        return not self


class Unkept(TypeError):
    """A value that cannot be stored in a state."""


def as_plain(value: Any) -> Any:
    """A value as plain values, for the next epoch. Raises Unkept."""
    match value:
        case Row():
            return "r", [as_plain(element) for element in value], list(value._fields)
        case ListView():
            return "L", [as_plain(element) for element in value]
        case list():
            return "l", [as_plain(element) for element in value]
        case tuple():
            return "t", [as_plain(element) for element in value]
        case MapView():
            return "M", [(as_plain(key), as_plain(mapped)) for key, mapped in value.items()]
        case dict():
            return "m", [(as_plain(key), as_plain(mapped)) for key, mapped in value.items()]
    if type(value) in _PLAIN:
        return value
    if isinstance(value, set | frozenset):
        message = "a set is not kept, since its order is another one in each process; use a dict"
        raise Unkept(message)
    message = f"a {type(value).__name__} is not kept; use Python's numbers, texts, times, lists and dicts, or Row"
    raise Unkept(message)


def from_plain(plain: Any) -> Any:
    """The value of plain values, the inverse of `as_plain`."""
    match plain:
        case ("r", values, names):
            row = Row(*map(from_plain, values))
            row.set_field_names(names)
            return row
        case ("L", values):
            return ListView(map(from_plain, values))
        case ("l", values):
            return [from_plain(value) for value in values]
        case ("t", values):
            return tuple(map(from_plain, values))
        case ("M", pairs):
            return MapView((from_plain(key), from_plain(value)) for key, value in pairs)
        case ("m", pairs):
            return {from_plain(key): from_plain(value) for key, value in pairs}
    return plain
