"""What PyFlink's functions keep values in: rows, and the views of lists and maps in their accumulators.

    Row(1, "a"), Row(n=1, s="a")     pyflink.common.Row
    ListView(), MapView()            pyflink.table.ListView, MapView: a list and a dict here, as each group has its own

An accumulator goes from epoch to epoch as plain values, since workers can import none of these classes: every value
that holds others is a pair of a letter and its parts, anything else is itself.

Source: pyflink.common.types, pyflink.table.data_view.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

_PLAIN: Final = (type(None), bool, int, float, str, bytes, Decimal, date, datetime, time, timedelta)


class Row(list[Any]):
    """Values by place, or by name in the order in which they are named."""

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
        """Call the values so."""
        self.__dict__["_fields"] = list(names)

    def _place(self, at: Any) -> Any:
        return self._fields.index(at) if isinstance(at, str) else at


class ListView(list[Any]):
    """A list, with the methods that PyFlink's has."""

    def get(self) -> ListView:
        """What is in it."""
        return self

    def add(self, value: Any) -> None:
        """Put a value at the end."""
        self.append(value)

    def add_all(self, values: Iterable[Any]) -> None:
        """Put values at the end."""
        self.extend(values)

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


class MapView(dict[Any, Any]):
    """A dict, with the methods that PyFlink's has."""

    def __missing__(self, key: Any) -> None:
        """What is not in it is None, as in a state of Flink."""

    def put(self, key: Any, value: Any) -> None:
        """Put a value in."""
        self[key] = value

    def put_all(self, values: Mapping[Any, Any]) -> None:
        """Put values in."""
        self.update(values)

    def remove(self, key: Any) -> None:
        """Take a key out."""
        del self[key]

    def contains(self, key: Any) -> bool:
        """Whether there is such a key."""
        return key in self

    def is_empty(self) -> bool:
        """Whether there is nothing in it."""
        return not self


class Unkept(TypeError):
    """A value that no state keeps."""


def as_plain(value: Any) -> Any:
    """A value as what goes from epoch to epoch. Raises Unkept."""
    match value:
        case Row():
            return "r", [as_plain(each) for each in value], list(value._fields)
        case ListView():
            return "L", [as_plain(each) for each in value]
        case list():
            return "l", [as_plain(each) for each in value]
        case tuple():
            return "t", [as_plain(each) for each in value]
        case MapView():
            return "M", [(as_plain(key), as_plain(each)) for key, each in value.items()]
        case dict():
            return "m", [(as_plain(key), as_plain(each)) for key, each in value.items()]
    if type(value) in _PLAIN:
        return value
    if isinstance(value, set | frozenset):
        message = "a set is not kept, since its order is another one in each process; use a dict"
        raise Unkept(message)
    message = f"a {type(value).__name__} is not kept; use Python's numbers, texts, times, lists and dicts, or Row"
    raise Unkept(message)


def from_plain(plain: Any) -> Any:
    """The value that was kept."""
    match plain:
        case ("r", values, names):
            row = Row(*map(from_plain, values))
            row.set_field_names(names)
            return row
        case ("L", values):
            return ListView(map(from_plain, values))
        case ("l", values):
            return [from_plain(each) for each in values]
        case ("t", values):
            return tuple(map(from_plain, values))
        case ("M", pairs):
            return MapView((from_plain(key), from_plain(each)) for key, each in pairs)
        case ("m", pairs):
            return {from_plain(key): from_plain(each) for key, each in pairs}
    return plain
