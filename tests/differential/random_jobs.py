"""Random pipelines and data, from a seed: one source, up to three operators, Flink options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from engine.kept.shrinking import smaller
from engine.model.pipeline import Pipeline

COLUMNS = (("k", "string"), ("v", "bigint"), ("w", "bigint"), ("rt", "timestamp"))
TIME_AT = 3
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 h",
    "table.optimizer.agg-phase-strategy": "ONE_PHASE",
}
_FUNCTIONS = ("COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE")


Operation = tuple[str, dict[str, Any]]
Arrived = tuple[Any, ...]
"""A table's name, the kind of a record, and its values, times in ms."""


@dataclass(frozen=True)
class Job:
    """A chain of operators over one source, and its rows. kinds: whether rows begin with their kind. Times in ms.

    hides_updates: whether Flink leaves out updates that show no change.
    """

    operators: tuple[tuple[str, dict[str, Any]], ...]
    rows: tuple[tuple[Any, ...], ...]
    kinds: bool
    delay_ms: int
    options: dict[str, str]
    rows_per_second: int | None = None
    hides_updates: bool = False

    @property
    def arrivals(self) -> list[Arrived]:
        """The rows with their table's name and their kind."""
        return [("t", *(row if self.kinds else ("+I", *row))) for row in self.rows]

    @property
    def tables(self) -> list[dict[str, Any]]:
        """The source, for Flink."""
        return [{"name": "t", "mode": "all" if self.kinds else "insert", "key": [], "delay_ms": self.delay_ms}]

    @property
    def pipeline(self) -> Pipeline:
        """The chain t -> n1 -> n2 ..."""
        source = {
            "columns": [{"name": name, "type": type_} for name, type_ in COLUMNS],
            "rows": [],
            "changelog": self.kinds,
        }
        if not self.kinds:
            source |= {"event_time": "rt", "watermark_delay_ms": self.delay_ms}
        nodes = [("t", "rows", source)]
        nodes += [(f"n{at}", name, given) for at, (name, given) in enumerate(self.operators, start=1)]
        return Pipeline.from_dict(
            {
                "nodes": [{"id": name, "operator": operator, "parameters": given} for name, operator, given in nodes],
                "edges": [{"source": a[0], "target": b[0]} for a, b in zip(nodes, nodes[1:], strict=False)],
                "options": self.options,
            }
        )

    def smaller(self) -> Iterator[Job]:
        """Smaller jobs, for shrinking."""
        yield from (job for job in self._smaller() if not job.kinds or is_changelog(job.rows))

    def _smaller(self) -> Iterator[Job]:
        yield from (replace(self, rows=tuple(rows)) for rows in smaller(self.rows, 2) if rows)
        for at in range(len(self.operators) if len(self.operators) > 1 else 0):
            yield replace(self, operators=self.operators[:at] + self.operators[at + 1 :])
        for at, (name, given) in enumerate(self.operators):
            for call in range(len(given.get("aggregates", ())) if len(given.get("aggregates", ())) > 1 else 0):
                fewer = {**given, "aggregates": given["aggregates"][:call] + given["aggregates"][call + 1 :]}
                yield replace(self, operators=(*self.operators[:at], (name, fewer), *self.operators[at + 1 :]))
        if self.options and not any(given.get("first_row") == "at_once" for _, given in self.operators):
            yield replace(self, options={})
        yield from (replace(self, rows=tuple(rows)) for rows in smaller(self.rows, len(self.rows)))


def random_job(random: Random) -> Job:
    """A random job; the planner may reject it."""
    kinds = random.random() < 0.4
    rows = changes(random, 18) if kinds else [random_row(random) for _ in range(random.randint(3, 24))]
    options: dict[str, str] = {}
    if random.random() < 0.3:
        options |= MINI_BATCH | {"table.exec.mini-batch.size": str(random.randint(1, 6))}
    if random.random() < 0.2:
        options["table.exec.state.ttl"] = "1 h"
    columns = [name for name, _ in COLUMNS]
    operators = []
    for place in range(random.choice((1, 1, 2, 2, 3))):
        name, given, after = _operator(random, columns, timed=not kinds and place == 0)
        if operators and _is_another_query(name, [above for above, _ in operators]):
            continue
        if name == "deduplicate" and kinds:
            # Flink SQL has no deduplication over a changelog: it would be a Top N by processing time.
            name, given, after = "filter", {"condition": "w > 0"}, columns
        if name == "deduplicate" and MINI_BATCH.items() <= options.items() and given["order"] == "event_time":
            given["first_row"] = "at_once"
        operators.append((name, given))
        columns = after
    return Job(tuple(operators), tuple(rows), kinds, random.choice((0, 500, 2000)), options)


def is_changelog(rows: Sequence[Sequence[Any]]) -> bool:
    """Whether only present rows are retracted, and every -U is followed by its +U."""
    there: Counter[tuple[Any, ...]] = Counter()
    for at, (kind, *row) in enumerate(rows):
        follows = at + 1 < len(rows) and rows[at + 1][0] == "+U"
        if (kind == "-U") is not follows:
            return False
        there[tuple(row)] += 1 if kind in ("+I", "+U") else -1
        if there[tuple(row)] < 0:
            return False
    return True


def _is_another_query(name: str, above: list[str]) -> bool:
    """Whether Flink treats these operators differently in one query than one by one.

    Flink SQL has no deduplication over a changelog. Of two Top N, the inner one keeps its rank number. Unused columns
    are left out, so a deduplication treats more rows as equal, and a Top N emits no ranks.
    """
    match name:
        case "deduplicate":
            return True
        case "topn":
            return "topn" in above
        case "aggregate":
            return "deduplicate" in above or "topn" in above
        case _:
            return False


def random_row(random: Random) -> tuple[Any, ...]:
    key = random.choice(("a", "b", "c", None))
    number = random.choice((None, *range(-2, 6)))
    return (key, number, random.randint(0, 3), random.randint(2, 30) * 500)


def changes(random: Random, most: int) -> list[tuple[Any, ...]]:
    """Inserts, and updates and deletes of present rows."""
    there: list[tuple[Any, ...]] = []
    found: list[tuple[Any, ...]] = []
    for _ in range(random.randint(3, most)):
        chance = random.random()
        if not there or chance < 0.5:
            there.append(random_row(random))
            found.append(("+I", *there[-1]))
            continue
        old = there.pop(random.randrange(len(there)))
        if chance < 0.75:
            new = (old[0], *random_row(random)[1:]) if random.random() < 0.7 else random_row(random)
            there.append(new)
            found += [("-U", *old), ("+U", *new)]
        else:
            found.append(("-D", *old))
    return found


def _operator(random: Random, columns: list[str], *, timed: bool) -> tuple[str, dict[str, Any], list[str]]:
    numbers = [name for name in columns if name not in ("k", "rt", "window_start", "window_end")]
    keys = [name for name in columns if name in ("k", "w")] or columns[:1]
    choices = ["aggregate", "aggregate", "deduplicate", "topn", "topn", "filter"]
    if timed:
        choices += ["over_aggregate", "over_aggregate", "window_aggregate", "deduplicate"]
    name = random.choice(choices)
    some_keys = random.sample(keys, random.randint(1, len(keys)))
    match name:
        case "filter":
            return name, {"condition": f"{random.choice(numbers)} > {random.randint(-1, 3)}"}, columns
        case "aggregate":
            calls = random_calls(random, numbers)
            group = some_keys if random.random() < 0.85 else []
            return name, {"group_by": group, "aggregates": calls}, [*group, *(call["name"] for call in calls)]
        case "window_aggregate":
            # Flink cannot merge the slices of FIRST_VALUE and LAST_VALUE, and rejects them; we support them.
            calls = [call for call in random_calls(random, numbers) if "_VALUE" not in call["function"]]
            calls = calls or [{"function": "COUNT", "name": "c9"}]
            kind = random.choice(("tumble", "hop", "cumulate", "session"))
            lengths = {
                "tumble": {"size_ms": 2000},
                "hop": {"size_ms": 4000, "slide_ms": 2000},
                "cumulate": {"size_ms": 4000, "step_ms": 1000},
                "session": {"gap_ms": 1000},
            }[kind]
            given = {"kind": kind, **lengths, "group_by": some_keys, "aggregates": calls}
            return name, given, [*some_keys, "window_start", "window_end", *(call["name"] for call in calls)]
        case "over_aggregate":
            calls = random_calls(random, numbers)
            frame: dict[str, Any] = {"frame": "rows", "preceding_rows": random.choice((None, 0, 1, 3))}
            if random.random() < 0.5:
                frame = {"frame": "range", "preceding_ms": random.choice((None, 500, 2000))}
            order = "arrival" if frame["frame"] == "rows" and random.random() < 0.3 else "event_time"
            given = {"partition_by": some_keys, "order": order, **frame, "aggregates": calls}
            return name, given, [*columns, *(call["name"] for call in calls)]
        case "deduplicate":
            order = random.choice(("event_time", "arrival")) if timed else "arrival"
            return name, {"keys": some_keys, "order": order, "keep": random.choice(("first", "last"))}, columns
        case _:
            # Without rank ranges of one row: Flink 2.3 treats a Top 1 by columns other than time as insert-only
            # (FLINK-39966, FLINK-40368).
            start = random.choice((1, 1, 1, 2))
            order_by = [
                {"column": column, "descending": random.random() < 0.5}
                for column in random.sample(numbers, random.randint(1, min(2, len(numbers))))
            ]
            with_rank = random.random() < 0.5
            given = {
                "partition_by": some_keys,
                "order_by": order_by,
                "rank_start": start,
                "rank_end": start + random.randint(1, 2),
                "with_rank": with_rank,
                "rank_column": f"rank{len(columns)}",
            }
            return name, given, [*columns, f"rank{len(columns)}"] if with_rank else columns


def random_calls(random: Random, numbers: list[str], *, ordered: bool = True) -> list[dict[str, Any]]:
    calls = []
    for at in range(random.randint(1, 3)):
        # The first and last values depend on an order that joins do not have.
        function = random.choice(_FUNCTIONS if ordered else _FUNCTIONS[:-2])
        argument = None if function == "COUNT" and random.random() < 0.5 else random.choice(numbers)
        name = f"{function[0].lower()}{at}_{random.randint(10, 99)}"
        calls.append({"function": function, "argument": argument, "name": name})
    return calls
