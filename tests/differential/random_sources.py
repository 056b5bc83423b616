"""Random tables: their columns, and arriving rows with updates and deletes of present rows."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from tests.differential.random_expressions import Column

Row = tuple[Any, ...]
_MORE: tuple[Column, ...] = (("i", "INT"), ("d", "DECIMAL(10, 2)"), ("b", "BOOLEAN"), ("s", "STRING"))


@dataclass(frozen=True)
class RandomSource:
    """A table in the terms of the conformance cases. mode: insert, all or upsert."""

    name: str
    columns: tuple[Column, ...]
    mode: str
    key: tuple[str, ...]
    time: str
    delay_ms: int
    processing_time: str | None

    def source(self, rows: list[Row]) -> dict[str, Any]:
        """The table with its rows, as a source of a case. Rows of a changelog begin with their kind."""
        return {
            "columns": [list(column) for column in self.columns],
            "rowtime": self.time,
            "watermark_delay_ms": self.delay_ms,
            "primary_key": list(self.key) or None,
            "changelog": self.mode != "insert",
            "changelog_mode": self.mode,
            "proctime": self.processing_time,
            "rows": [list(row) if self.mode != "insert" else list(row[1:]) for row in rows],
        }

    def for_flink(self) -> dict[str, Any]:
        """The table without its rows, in the form that `engine.flink.inside` reads."""
        return {
            "name": self.name,
            "columns": self.columns,
            "mode": self.mode,
            "key": self.key,
            "time": self.time,
            "delay_ms": self.delay_ms,
            "processing_time": self.processing_time,
        }


def random_source(random: Random, name: str, mode: str, key: tuple[str, ...]) -> RandomSource:
    """A random table: a key, a number, a smaller number, up to two more columns, and an event time."""
    more = random.sample(_MORE, random.choice((0, 0, 1, 2)))
    time = random.choice(("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"))
    columns = (("k", "STRING"), ("v", "BIGINT"), ("w", "BIGINT"), *more, ("rt", time))
    processing_time = "pt" if mode == "insert" and random.random() < 0.3 else None
    return RandomSource(name, columns, mode, key, "rt", random.choice((0, 0, 500, 2000)), processing_time)


def random_rows(random: Random, source: RandomSource, most: int) -> list[Row]:
    """Random rows with their kinds. Event times grow with some disorder."""
    found: list[Row] = []
    there: list[Row] = []
    for at in range(random.randint(3, most)):
        new = tuple(_value(random, name, type_, at) for name, type_ in source.columns)
        if source.mode == "insert":
            found.append(("+I", *new))
        elif source.key:
            found += _change_by_key(random, source, there, new)
        else:
            found += _change(random, there, new)
    return found


def _value(random: Random, name: str, type_: str, at: int) -> Any:
    if name == "k":
        return random.choice(("a", "b", "c", None))
    if name == "w":
        return random.randint(0, 3)
    if type_.startswith("TIMESTAMP"):
        return 10_000 + at * 400 + random.randint(0, 12) * 250
    if random.random() < 0.1:
        return None
    match type_:
        case "BOOLEAN":
            return random.random() < 0.5
        case "STRING":
            return random.choice(("a", "ab", "b", "bc", "", "3"))
        case "INT" | "BIGINT":
            return random.randint(-2, 5)
        case _:
            return f"{random.randint(-300, 500) / 100:.2f}"


def _change(random: Random, there: list[Row], new: Row) -> list[Row]:
    chance = random.random()
    if not there or chance < 0.5:
        there.append(new)
        return [("+I", *new)]
    old = there.pop(random.randrange(len(there)))
    if chance < 0.75:
        new = (old[0], *new[1:]) if random.random() < 0.7 else new
        there.append(new)
        return [("-U", *old), ("+U", *new)]
    return [("-D", *old)]


def _change_by_key(random: Random, source: RandomSource, there: list[Row], new: Row) -> list[Row]:
    new = (random.choice(("a", "b", "c")), *new[1:])
    old = next((row for row in there if row[0] == new[0]), None)
    if old is None:
        there.append(new)
        return [("+I", *new)]
    there.remove(old)
    if random.random() < 0.3:
        return [("-D", *old)]
    there.append(new)
    return [("+U", *new)] if source.mode == "upsert" else [("-U", *old), ("+U", *new)]
