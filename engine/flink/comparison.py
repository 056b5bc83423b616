"""Our changelog beside Flink's, as strict about their order as Flink is itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from typing import Any, Final

from engine.flink.values import Records
from engine.model.options import MINI_BATCH
from engine.planner import NodePlan, Plan

# Timers of several keys that are due at once, and pairs of a join: `FLINK.md`, "Timers that are due at once".
_OPEN: Final = (
    *("window_aggregate", "window_topn", "window_join", "over_aggregate", "match_recognize", "sort"),
    *("join", "interval_join", "temporal_join"),
)


class Outcome(Enum):
    """How two changelogs compare."""

    EQUAL = "equal, record for record"
    OTHER_ORDER = "equal, but for an order that Flink leaves open"
    SAME_TABLE = "the same table, by other records"
    REFUSED = "refused by Flink"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Compared:
    """The result. at: the number of the first record that differs, from 0; None if none does."""

    outcome: Outcome
    at: int | None = None
    ours: tuple[Any, ...] | None = None
    theirs: tuple[Any, ...] | None = None


def compared(ours: Records, theirs: Records, *, is_open: bool, key: Sequence[int] | None = None) -> Compared:
    """Compare. is_open: Flink leaves the order open. key: places in the row by which a table has one row each."""
    if [*map(list, ours)] == [*map(list, theirs)]:
        return Compared(Outcome.EQUAL)
    first = next(
        Compared(Outcome.DIFFERENT, at, a, b)
        for at, (a, b) in enumerate(zip_longest(ours, theirs))
        if a is None or b is None or [*a] != [*b]
    )
    outcome = Outcome.DIFFERENT
    if is_open and Counter(map(str, ours)) == Counter(map(str, map(tuple, theirs))):
        return Compared(Outcome.OTHER_ORDER)
    if table(ours, key) == table(theirs, key):
        outcome = Outcome.SAME_TABLE
    return Compared(outcome, first.at, first.ours, first.theirs)


def table(records: Records, key: Sequence[int] | None = None) -> Counter[str]:
    """The rows that a changelog ends with."""
    if key is not None:
        held: dict[str, str] = {}
        for kind, *row in records:
            of = str([row[place] for place in key])
            if kind in ("+I", "+U"):
                held[of] = str(row)
            else:
                held.pop(of, None)
        return Counter(held.values())
    rows: Counter[str] = Counter()
    for kind, *row in records:
        rows[str(row)] += 1 if kind in ("+I", "+U") else -1
    return Counter({row: count for row, count in rows.items() if count})


def leaves_order_open(plan: Plan) -> bool:
    """Whether Flink leaves the order of some records of a plan open."""
    return any(map(_is_open, plan.nodes)) or plan.pipeline.options.get(MINI_BATCH.name) == "true"


def _is_open(node: NodePlan) -> bool:
    name = node.operator.operator
    if name == "over_aggregate":
        return getattr(getattr(node.operator, "order", None), "value", "") != "arrival"
    if name == "deduplicate":
        given = node.operator.model_dump(mode="json")
        return given.get("order") == "event_time" and given.get("keep") == "first"
    return name in _OPEN or getattr(getattr(node.operator, "kind", None), "value", "") == "session"
