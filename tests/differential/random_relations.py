"""The known properties of a table or view, and random aggregates over it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from tests.differential.random_expressions import WHOLE, Column, condition, is_number, is_plain, is_time

WINDOW: tuple[Column, ...] = (("window_start", "TIMESTAMP(3)"), ("window_end", "TIMESTAMP(3)"))


@dataclass(frozen=True)
class Relation:
    """A table or a view.

    time: its event time. is_loose: Flink guarantees no order of its records, so that no step above it may depend on
    their order. has_windows: it has window bounds that Flink recognises.
    """

    name: str
    columns: tuple[Column, ...]
    time: str | None
    processing_time: str | None
    is_append: bool
    is_loose: bool = False
    has_windows: bool = False

    @property
    def names(self) -> list[str]:
        """The columns, without the processing time."""
        return [name for name, _ in self.columns]

    @property
    def keys(self) -> list[str]:
        """Columns to group by."""
        found = [name for name, type_ in self.columns if type_ in ("STRING", "BIGINT", "INT", "BOOLEAN")]
        return [name for name in found if name in ("k", "w", "b")] or found or self.names[:1]


Step = tuple[str, Relation] | None
"""A SELECT and its relation; None if the step is not possible."""


_ANY = ("COUNT", "MIN", "MAX")
_NUMBERS = ("SUM", "AVG", "COUNT", "MIN", "MAX")
_ORDERED = ("FIRST_VALUE", "LAST_VALUE", "LISTAGG", "ARRAY_AGG", "JSON_ARRAYAGG")
_STATISTICS = ("STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP")
_DISTINCT = (*_NUMBERS, "LISTAGG", "ARRAY_AGG", "COLLECT")
_GIVES = {
    "COUNT": "BIGINT",
    "LISTAGG": "STRING",
    "JSON_ARRAYAGG": "STRING",
    "ARRAY_AGG": "ARRAY<{}>",
    "COLLECT": "MULTISET<{}>",
    "PERCENTILE": "DOUBLE",
}


def aggregates(
    random: Random, below: Relation, *, mergeable: bool = False, plain: bool = False, suffix: str = ""
) -> tuple[list[str], list[Column]]:
    """Random aggregate calls with their names, and the resulting columns.

    mergeable: only those that windows can merge. plain: without DISTINCT and FILTER. suffix: the text after each call.
    """
    calls, columns = [], []
    for at in range(random.randint(1, 3)):
        call, type_ = _call(random, below, ordered=not (mergeable or below.is_loose or plain), plain=plain)
        name = f"a{at}_{random.randint(0, 99)}"
        calls.append(f"{call}{suffix} AS {name}")
        columns.append((name, type_))
    return calls, columns


def _call(random: Random, below: Relation, *, ordered: bool, plain: bool) -> tuple[str, str]:
    filter_ = f" FILTER (WHERE {condition(random, below.columns)})" if not plain and random.random() < 0.15 else ""
    if random.random() < 0.2:
        return f"COUNT(*){filter_}", "BIGINT"
    able = [column for column in below.columns if is_plain(column[1]) and not is_time(column[1])]
    name, type_ = random.choice(able or [column for column in below.columns][:1])
    function = random.choice(_NUMBERS if is_number(type_) else _ANY)
    if ordered and random.random() < 0.25:
        function = random.choice(_ORDERED)
    elif not plain and random.random() < 0.12:
        function = random.choice(("COLLECT", "PERCENTILE", *_STATISTICS) if type_ in WHOLE else ("COLLECT",))
    if type_ == "BOOLEAN" and function in ("MIN", "MAX"):
        function = "COUNT"
    if is_time(type_) or not is_plain(type_):
        function = "COUNT"
    distinct_ = "DISTINCT " if not plain and random.random() < 0.2 and function in _DISTINCT else ""
    argument = {"LISTAGG": f"CAST({name} AS STRING)", "PERCENTILE": f"{name}, 0.4"}.get(function, name)
    if function == "JSON_ARRAYAGG":
        filter_ = ""
    made = _GIVES.get(function, type_).format(type_)
    if function in ("SUM", "AVG") and type_.startswith("DECIMAL"):
        made = "DECIMAL(38, 2)" if function == "SUM" else "DECIMAL(38, 6)"
    return f"{function}({distinct_}{argument}){filter_}", made


def partition_by(keys: Iterable[str]) -> str:
    listed = ", ".join(keys)
    return f"PARTITION BY {listed} " if listed else ""


def columns_of(below: Relation, names: Iterable[str]) -> list[Column]:
    types = dict(below.columns)
    return [(name, types[name]) for name in names]


def changing(below: Relation, columns: Iterable[Column]) -> Relation:
    """A relation whose rows may be updated."""
    return Relation("", tuple(columns), None, None, is_append=False, is_loose=below.is_loose)
