"""The type of nested JSON, inferred from a sample of its values:

    {"city": "Bonn", "zip": "53111"}            ROW<city STRING, zip STRING>
    [{"sku": 7}, {"sku": 8, "gift": true}]      ARRAY<ROW<sku BIGINT, gift BOOLEAN>>
    {"u17": 3}, {"u99": 1}, {"u4": 2}           MAP<STRING, BIGINT>
    {}                                          MAP<STRING, STRING>
    7, {"a": 1}                                 STRING, which holds the JSON

The fields of a ROW are all keys of the sample, in the order in which they appear; a field that an object lacks is null.
An object is a MAP if its keys are values rather than names:

- no key is in more than half of the objects, there are three or more, and their values have one type; or
- there are more than a hundred keys, of which an object has less than half on average; or
- they cannot be the names of fields: one is blank, or two differ in case only.

A MAP whose values have several types is MAP<STRING, STRING>: a value that is no text is its JSON, as in Flink.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from engine.model.types import STRING, Array, Map, Row, Type
from engine.reading.typed.inference import infer_json

_LEVELS: Final = 12
"""The depth from which values are their JSON."""
_MOST_NAMES: Final = 100
_FEWEST_KEYS: Final = 3


def infer_nested(values: Iterable[Any]) -> Type:
    """The type of a column of JSON values. None is null."""
    return _type_of([value for value in values if value is not None], 0)


def _type_of(values: Sequence[Any], level: int) -> Type:
    if not any(isinstance(value, dict | list) for value in values):
        return infer_json(values)
    if level < _LEVELS and all(isinstance(value, dict) for value in values):
        return _object_type(values, level + 1)
    if level < _LEVELS and all(isinstance(value, list) for value in values):
        return Array(_type_of([item for value in values for item in value if item is not None], level + 1))
    return STRING


def _object_type(objects: Sequence[dict[str, Any]], level: int) -> Type:
    held: dict[str, list[Any]] = {}
    for object_ in objects:
        for name, value in object_.items():
            held.setdefault(name, []).append(value)
    of_name = {name: [value for value in values if value is not None] for name, values in held.items()}
    if _are_names(Counter({name: len(values) for name, values in held.items()}), sum(map(bool, objects))):
        return Row(tuple((name, _type_of(values, level)) for name, values in of_name.items()))
    values = [value for group in of_name.values() for value in group]
    type_ = _type_of(values, level)
    # What only some of the keys have would be fields of a ROW; of one type are values that make no text of others.
    is_one = type_ != STRING or all(isinstance(value, str) for value in values)
    if not is_one and _can_be_names(of_name) and len(of_name) <= _MOST_NAMES:
        return Row(tuple((name, _type_of(values, level)) for name, values in of_name.items()))
    return Map(STRING, type_)


def _are_names(counts: Counter[str], objects: int) -> bool:
    """Whether keys are the names of fields. counts: by key, the objects that have it. objects: that have any key."""
    if not _can_be_names(counts):
        return False
    if len(counts) > _MOST_NAMES:
        return 2 * counts.total() >= len(counts) * objects
    return len(counts) < _FEWEST_KEYS or 2 * max(counts.values()) > objects


def _can_be_names(names: Iterable[str]) -> bool:
    lower = [name.strip().lower() for name in names]
    return bool(lower) and all(lower) and len(set(lower)) == len(lower)
