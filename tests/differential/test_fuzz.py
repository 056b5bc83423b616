"""Random pipelines on our engine and on Flink give the same changelogs; what differs is shrunk.

    CHANGELOG_STUDIO_FLINK=<python with apache-flink>  FUZZ_PIPELINES=100  FUZZ_SEED=1
    pytest tests/differential

Without an interpreter that has apache-flink this is not run, and says so.
Records are compared in order. Where Flink leaves the order open (equal timers, the hash map of a bundle) they
are compared in order within the upsert key, else as a bag; after such a node only the tables are compared.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from engine.contract.operator import Operator
from engine.errors import StudioError
from engine.local.values import plain_values
from engine.model.changelog import SYMBOLS
from engine.model.schema import Column, quote
from engine.planner import Plan
from tests.differential.arrived import AnyJob, plan_of, run_locally
from tests.differential.random_jobs import COLUMNS, random_job
from tests.differential.random_joins import PACE, random_join
from tests.differential.random_windows import random_windows

FLINK = os.environ.get("CHANGELOG_STUDIO_FLINK", "")
PIPELINES = int(os.environ.get("FUZZ_PIPELINES", "40"))
SEED = int(os.environ.get("FUZZ_SEED", "1"))

Records = list[tuple[Any, ...]]


class Flink:
    """A process that answers jobs."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).parent / "flink_jobs.py"
        self.process = subprocess.Popen(
            [python, str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, job: AnyJob, planned: Plan) -> Records:
        """The changelog; ValueError with what Flink says where it refuses."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(_for_flink(job, planned)) + "\n")
        self.process.stdin.flush()
        while not (line := self.process.stdout.readline()).startswith("{"):
            assert line, "Flink has gone away"
        found = json.loads(line)
        if "error" in found:
            raise ValueError(found["error"])
        return [tuple(row) for row in found["changelog"]]

    def close(self) -> None:
        """Let it end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process.wait()


@pytest.fixture(scope="module")
def flink() -> Iterator[Flink]:
    if not FLINK:
        pytest.skip("not run: CHANGELOG_STUDIO_FLINK names no interpreter with apache-flink")
    found = Flink(FLINK)
    yield found
    found.close()


@pytest.mark.parametrize("make", [random_job, random_join, random_windows])
def test_random_pipelines_give_the_changelogs_of_flink(make: Callable[[Random], AnyJob], flink: Flink) -> None:
    random = Random(SEED)
    refused, found = 0, []
    for number in range(PIPELINES):
        job = make(random)
        while (planned := planned_or_none(job)) is None:
            refused += 1
            job = make(random)
        told = difference(flink, job, planned)
        if told is not None:
            small = job if told.startswith("Flink refuses") else shrunk(flink, job)
            told = difference(flink, small, plan_of(small)) or told
            found.append(f"pipeline {number} of seed {SEED}: {small}\n{told}")
    assert not found, f"{len(found)} of {PIPELINES} pipelines differ ({refused} refused):\n\n" + "\n\n".join(found)


def difference(flink: Flink, job: AnyJob, planned: Plan) -> str | None:
    """What differs, or None."""
    ours = records_of(run_locally(planned, job.arrivals).records(planned.nodes[-1].id))
    try:
        theirs = flink.run(job, planned)
    except ValueError as error:
        cause = [line for line in str(error).splitlines() if "Exception" in line][-1:]
        return f"Flink refuses it: {cause}"
    if ours == theirs or _same_as_far_as_said(ours, theirs, job, planned):
        return None
    if job.rows_per_second == PACE:
        # One row may have overtaken another: once more, slowly.
        return difference(flink, replace(job, rows_per_second=PACE // 5), planned)
    lines = [f"ours   {row}" for row in ours] + [f"flink  {row}" for row in theirs]
    return "\n".join([*(f"{node.id}: {node.strategy.name} {node.mode}" for node in planned.nodes), *lines])


def _same_as_far_as_said(ours: Records, theirs: Records, job: AnyJob, planned: Plan) -> bool:
    names = [name for name, _ in job.operators]
    loose = [
        # Of an aggregate below another one Flink leaves out what is not used, and so updates that show nothing.
        _is_loose(name, given, job) or (name == "aggregate" and "aggregate" in names[at + 1 :])
        for at, (name, given) in enumerate(job.operators)
    ]
    if not any(loose):
        return False
    if any(loose[:-1]) or job.hides_updates:
        return _table(ours) == _table(theirs)
    last = planned.nodes[-1]
    for key in last.derived.upsert_keys:
        places = [last.schema.index(name) + 1 for name in key]
        return _by(ours, places) == _by(theirs, places)
    return Counter(ours) == Counter(theirs)


def _is_loose(name: str, given: dict[str, Any], job: AnyJob) -> bool:
    if name.endswith("join"):
        return True
    if name in ("window_aggregate", "over_aggregate", "window_topn") or given.get("kind") == "session":
        return given.get("order") != "arrival"
    if name == "deduplicate" and given["order"] == "event_time" and given["keep"] == "first":
        return True
    return bool(job.options) and name in ("aggregate", "deduplicate")


def _by(records: Records, places: Sequence[int]) -> dict[tuple[Any, ...], Records]:
    found: dict[tuple[Any, ...], Records] = {}
    for record in records:
        found.setdefault(tuple(record[place] for place in places), []).append(record)
    return found


def _table(records: Records) -> Counter[tuple[Any, ...]]:
    rows: Counter[tuple[Any, ...]] = Counter()
    for kind, *row in records:
        rows[tuple(row)] += 1 if kind in ("+I", "+U") else -1
    return Counter({row: count for row, count in rows.items() if count})


def shrunk(flink: Flink, job: AnyJob) -> AnyJob:
    """A smaller job that still differs; at most so many are tried."""
    tries = 20
    going = True
    while going and tries:
        going = False
        for smaller in job.smaller():
            planned = planned_or_none(smaller)
            if planned is None:
                continue
            tries -= 1
            told = difference(flink, smaller, planned)
            if told is not None and "refuses" not in told:
                job, going = smaller, True
                break
            if not tries:
                break
    return job


def planned_or_none(job: AnyJob) -> Plan | None:
    """The plan of a job; None where it is refused here."""
    try:
        return plan_of(job)
    except StudioError:
        return None


def records_of(changelog: pa.Table) -> Records:
    """A changelog as Flink's is handed over: times in microseconds."""
    kinds, *columns = (plain_values(column) for column in changelog.columns[2:])
    return list(zip((SYMBOLS[kind] for kind in kinds), *columns, strict=True))


def _plain(column: Column) -> str:
    # Python cannot unpickle a TIMESTAMP_LTZ of Flink.
    return f"CAST({quote(column.name)} AS TIMESTAMP(3))" if column.type == "timestamp" else quote(column.name)


def _for_flink(job: AnyJob, planned: Plan) -> dict[str, Any]:
    views = []
    for node in planned.nodes:
        if not isinstance(node.operator, Operator):
            continue
        views.append([node.id, node.operator.flink_sql([(given.node, given.schema) for given in node.inputs])])
    types = {"string": "STRING", "bigint": "BIGINT", "timestamp": "BIGINT"}
    columns = [[name, types[type_]] for name, type_ in COLUMNS]
    return {
        "tables": [{**table, "columns": columns, "time": "rt"} for table in job.tables],
        "arrivals": job.arrivals,
        "rows_per_second": job.rows_per_second,
        "views": views,
        "sql": f"SELECT {', '.join(map(_plain, planned.nodes[-1].schema))} FROM {quote(planned.nodes[-1].id)}",
        "options": job.options,
    }
