"""The comparison of two changelogs, as strict about their order as Flink's guarantees."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from tests.conformance.case import Case, Record


def first_difference(case: Case, expected: Sequence[Record], got: Sequence[Record], key: Sequence[int] = ()) -> str:
    """The first difference as a text; empty if there is none. key: the indexes of the columns that identify a row.

    In mini-batch, records have no arrival, and are compared in order within a key.
    """
    if any(record.after is None for record in expected):
        got = [Record(record.kind, record.row, None) for record in got]
    if case.is_mini_batch:
        return _per_group(expected, got, lambda record: tuple(_text(record.row[at]) for at in key), ordered=bool(key))
    if case.expected["order"] == "permuted":
        return _per_group(expected, got, lambda record: str(record.after), ordered=False)
    return _in_order(expected, got)


def _in_order(expected: Sequence[Record], got: Sequence[Record]) -> str:
    for at, (want, have) in enumerate(zip_longest(expected, got), start=1):
        if want is None:
            return f"record {at}: {have} is too much"
        if have is None:
            return f"record {at}: {want} is missing"
        if _text(want) != _text(have):
            return f"record {at}: expected {want}, got {have}"
    return ""


def _per_group(expected: Sequence[Record], got: Sequence[Record], group: object, *, ordered: bool) -> str:
    assert callable(group)
    keys = list(dict.fromkeys(map(group, (*expected, *got))))
    for key in keys:
        want, have = ([record for record in side if group(record) == key] for side in (expected, got))
        if ordered:
            found = _in_order(want, have)
        else:
            missing = Counter(map(str, want)) - Counter(map(str, have))
            extra = Counter(map(str, have)) - Counter(map(str, want))
            found = "; ".join(
                [*(f"{record} is missing" for record in missing), *(f"{record} is too much" for record in extra)]
            )
        if found:
            return found
    return ""


def _text(value: object) -> str:
    if isinstance(value, Record):
        return json.dumps([value.kind, value.row, value.after])
    return json.dumps(value)
