"""Random queries in Flink SQL: one or two tables with their rows, and up to eight views, each over previous ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from random import Random
from typing import Any

from engine.kept.shrinking import smaller
from tests.conformance.case import Case
from tests.differential.random_jobs import MINI_BATCH, Arrived, is_changelog
from tests.differential.random_joins import PACE
from tests.differential.random_pairs import of_two, temporal_join
from tests.differential.random_patterns import pattern
from tests.differential.random_relations import Relation, Step
from tests.differential.random_sources import RandomSource, random_rows, random_source
from tests.differential.random_steps import filtered, of_one, project

View = tuple[str, str, Relation]
"""A name, a SELECT, and its relation."""


@dataclass(frozen=True)
class QueryJob:
    """Tables, their rows in order of arrival, and views. The query reads the last view."""

    sources: tuple[RandomSource, ...]
    arrivals: tuple[Arrived, ...]
    views: tuple[View, ...]
    steps: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    rows_per_second: int | None = None

    @property
    def is_loose(self) -> bool:
        """Whether Flink guarantees no order of the records."""
        return self.views[-1][2].is_loose or bool(self.options)

    @property
    def sql(self) -> str:
        """The query of the last view."""
        name, _, relation = self.views[-1]
        return f"SELECT {', '.join(relation.names)} FROM {name}"

    @property
    def job(self) -> dict[str, Any]:
        """The job as a case file of `tests/conformance`."""
        rows = {source.name: [row for table, *row in self.arrivals if table == source.name] for source in self.sources}
        return {
            "sources": {
                source.name: source.source([tuple(row) for row in rows[source.name]]) for source in self.sources
            },
            "arrival": [table for table, *_ in self.arrivals],
            "views": {name: sql for name, sql, _ in self.views},
            "sql": self.sql,
            "config": dict(self.options),
        }

    @property
    def case(self) -> Case:
        """The same as a case, to run it here."""
        return Case("query", self.job, {})

    @property
    def for_flink(self) -> dict[str, Any]:
        """The same in the form that `engine.flink.inside` reads."""
        return {
            "tables": [source.for_flink() for source in self.sources],
            "arrivals": self.arrivals,
            "rows_per_second": self.rows_per_second,
            "views": [[name, sql] for name, sql, _ in self.views],
            "sql": self.sql,
            "options": dict(self.options),
        }

    def smaller(self) -> Iterator[QueryJob]:
        """Smaller jobs, for shrinking."""
        for at in range(1, len(self.views)):
            yield replace(self, views=self.views[:at], steps=self.steps[:at])
        found = [tuple(fewer) for pieces in (2, len(self.arrivals)) for fewer in smaller(self.arrivals, pieces)]
        found += [self.arrivals[:at] + self.arrivals[at + 2 :] for at in range(len(self.arrivals) - 1)]
        for arrivals in found:
            if arrivals and all(_is_valid(source, arrivals) for source in self.sources):
                yield replace(self, arrivals=arrivals)
        if self.options:
            yield replace(self, options={})

    def __str__(self) -> str:
        lines = [f"{name} := {sql}" for name, sql, _ in self.views]
        tables = [f"{each.name}: {each.mode} {each.key} {each.columns} delay {each.delay_ms}" for each in self.sources]
        return "\n".join([*tables, *map(str, self.arrivals), str(dict(self.options)), *lines])


def _is_valid(source: RandomSource, arrivals: Sequence[Arrived]) -> bool:
    """Whether a table's rows are still a valid changelog. For upserts, a +U needs no -U before it."""
    rows = [row for table, *row in arrivals if table == source.name]
    kinds = [row[0] for row in rows]
    is_alone = any(kind == "+U" and before != "-U" for before, kind in pairwise(["", *kinds]))
    return source.mode == "insert" or (is_changelog(rows) and (source.mode == "upsert" or not is_alone))


def random_query(random: Random) -> QueryJob:
    """A random query over one table, or over two with a join or another step of two relations."""
    return _of_two_tables(random) if random.random() < 0.45 else _of_one_table(random)


def random_match(random: Random) -> QueryJob:
    """A random query with a pattern, over a table that may be filtered or projected, with further steps above it."""
    source = random_source(random, "t", "insert", ())
    chain = _Chain(random)
    below = _relation(source)
    if random.random() < 0.3:
        chain.take(*random.choice(((filtered.__name__, filtered(random, below)), ("project", project(random, below)))))
        below = chain.views[-1][2]
    if not chain.take(pattern.__name__, pattern(random, below)):
        return random_match(random)
    chain.grown(chain.views[-1][2], random.choice((0, 0, 0, 1, 2)))
    rows = random_rows(random, source, 30)
    return QueryJob((source,), tuple(("t", *row) for row in rows), tuple(chain.views), tuple(chain.steps), {})


def _of_one_table(random: Random) -> QueryJob:
    mode, key = random.choice(
        (("insert", ()), ("insert", ()), ("insert", ()), ("all", ()), ("all", ("k",)), ("upsert", ("k",)))
    )
    source = random_source(random, "t", mode, key)
    chain = _Chain(random)
    above = chain.grown(_relation(source), random.choice((1, 2, 2, 3, 3, 4, 5, 6, 8)))
    if above.name == "t":
        return random_query(random)
    rows = random_rows(random, source, random.choice((8, 16, 24)))
    options: dict[str, str] = {}
    if random.random() < 0.15:
        options = MINI_BATCH | {"table.exec.mini-batch.size": str(random.randint(1, 6))}
    return QueryJob((source,), tuple(("t", *row) for row in rows), tuple(chain.views), tuple(chain.steps), options)


def _of_two_tables(random: Random) -> QueryJob:
    modes: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("insert", ()),
        ("insert", ()),
        ("all", ()),
        ("all", ("k",)),
        ("upsert", ("k",)),
    )
    is_temporal = random.random() < 0.15
    mode, key = random.choice(modes[3:]) if is_temporal else random.choice(modes)
    left = random_source(random, "l", *(modes[0] if is_temporal else random.choice(modes)))
    right = random_source(random, "r", mode, key)
    if is_temporal:
        right = replace(right, columns=(*right.columns[:-1], left.columns[-1]))
    chain = _Chain(random)
    one, two = _relation(left), _relation(right)
    if is_temporal:
        name, made = "temporal_join", temporal_join(random, one, replace(two, time="rt"))
    else:
        one, two = (chain.grown(each, random.choice((0, 0, 1, 1, 2))) for each in (one, two))
        name, made = of_two(random, one, two)
    if not chain.take(name, made):
        return random_query(random)
    chain.grown(chain.views[-1][2], random.choice((0, 0, 1, 1, 2, 3)))
    rows = {source.name: random_rows(random, source, 10) for source in (left, right)}
    arrivals: list[Arrived] = []
    while any(rows.values()):
        table = random.choices(list(rows), [len(each) for each in rows.values()])[0]
        arrivals.append((table, *rows[table].pop(0)))
    return QueryJob((left, right), tuple(arrivals), tuple(chain.views), tuple(chain.steps), {}, PACE)


def _relation(source: RandomSource) -> Relation:
    is_append = source.mode == "insert"
    time = source.time if is_append else None
    return Relation(source.name, source.columns, time, source.processing_time, is_append=is_append)


class _Chain:
    """A growing list of views."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.views: list[View] = []
        self.steps: list[str] = []

    def grown(self, below: Relation, steps: int) -> Relation:
        """Add up to `steps` random steps above a relation, and return the last relation."""
        for _ in range(steps):
            if self.take(*of_one(self.random, below)):
                below = self.views[-1][2]
        return below

    def take(self, name: str, made: Step) -> bool:
        """Add a step as a view. False if there is no step."""
        if made is None or re.search(r"\bFROM \W*$", made[0]):
            return False
        view = f"v{len(self.views)}"
        self.views.append((view, made[0], replace(made[1], name=view)))
        self.steps.append(name)
        return True
