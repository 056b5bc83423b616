"""Properties of every deduplication, for any input."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import ColumnarKernel, Layout
from engine.contract.kernel import Emitted, Input, Output, Saved, run_key
from engine.deduplication.columnar import KeepFirstColumns, KeepLastColumns, RowTimeColumns
from engine.deduplication.columnar_first_row import RowTimeKeepFirstColumns
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.row import Row
from engine.model.timeline import MAX_WATERMARK, Timeline

# A row is (v, time): few values, so that ties and repeats are common.
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 20)), max_size=30)
TIME_AT, WIDTH = 1, 2


Make = Callable[[Layout], ColumnarKernel]


def run(make: Make, inputs: Sequence[Input], timeline: Timeline | None = None, saved: Saved | None = None) -> Any:
    """The output of the records of one key, and its state."""
    line = timeline or Timeline.of([])
    types = (pa.int64(),) * (len(inputs[0].row) if inputs else WIDTH)
    out = Output(line)
    return out, run_key(ChunkLoop(make, Layout((), (types,), types), line, out), inputs, line, (), saved)


def by_time(keep_last: bool, update_before: bool = True) -> Make:
    rule = {"keep_last": keep_last, "update_before": update_before, "tell_insert": True}
    return lambda layout: RowTimeColumns(layout, TIME_AT, WIDTH, **rule)


def by_arrival(update_before: bool = True) -> Make:
    return lambda layout: KeepLastColumns(layout, update_before=update_before, tell_insert=True, repeat=False)


def on_changelog(update_before: bool = True) -> Make:
    rule = {"update_before": update_before, "tell_insert": True, "repeat": False}
    return lambda layout: KeepLastColumns(layout, **rule, on_changelog=True)


def when_complete(layout: Layout) -> RowTimeKeepFirstColumns:
    return RowTimeKeepFirstColumns(layout, TIME_AT, WIDTH)


def inserts(rows: Iterable[Row]) -> list[Input]:
    return [Input(seq, INSERT, row) for seq, row in enumerate(rows, start=1)]


def watermarks(rows: Sequence[Row], delay_ms: int) -> Timeline:
    """The watermark after every row, and the end of the input."""
    highest = [max(time for _, time in rows[: n + 1]) - delay_ms for n in range(len(rows))]
    return Timeline.of([*enumerate(highest, start=1), (len(rows) + 1, MAX_WATERMARK)])


def table_of(changelog: Iterable[Emitted]) -> list[Row]:
    """The rows after a changelog of one key. Fails if a -U or -D retracts an absent row."""
    table: list[Row] = []
    for record in changelog:
        if record.kind in (UPDATE_BEFORE, DELETE):
            table.remove(record.row)
        else:
            table.append(record.row)
    return table


def upserted(changelog: Iterable[Emitted]) -> list[Row]:
    """The row after a changelog of one key without -U."""
    table: list[Row] = []
    for record in changelog:
        table = [] if record.kind == DELETE else [record.row]
    return table


def last_by_time(rows: Sequence[Row]) -> list[Row]:
    return [max(enumerate(rows), key=lambda at: (at[1][TIME_AT], at[0]))[1]] if rows else []


def first_by_time(rows: Sequence[Row]) -> list[Row]:
    return [min(enumerate(rows), key=lambda at: (at[1][TIME_AT], at[0]))[1]] if rows else []


BATCH_ANSWERS: dict[str, tuple[Callable[[bool], Make], Callable[[Sequence[Row]], list[Row]]]] = {
    "last by event time": (lambda before: by_time(True, before), last_by_time),
    "first by event time, at once": (lambda before: by_time(False, before), first_by_time),
    "first by arrival": (lambda before: KeepFirstColumns, lambda rows: list(rows[:1])),
    "last by arrival": (by_arrival, lambda rows: list(rows[-1:])),
}


@pytest.mark.parametrize(("kernel", "batch"), BATCH_ANSWERS.values(), ids=BATCH_ANSWERS)
@given(rows=ROWS)
def test_the_table_is_the_batch_answer_after_every_record(
    kernel: Callable[[bool], Make], batch: Callable[[Sequence[Row]], list[Row]], rows: list[Row]
) -> None:
    retracting, _ = run(kernel(True), inserts(rows))
    upserting, _ = run(kernel(False), inserts(rows))
    for seq in range(1, len(rows) + 1):
        assert table_of(e for e in retracting.emitted if e.seq <= seq) == batch(rows[:seq])
        assert upserted(e for e in upserting.emitted if e.seq <= seq) == batch(rows[:seq])
    assert all(record.kind != UPDATE_BEFORE for record in upserting.emitted)


@pytest.mark.parametrize(("kernel", "batch"), BATCH_ANSWERS.values(), ids=BATCH_ANSWERS)
@given(rows=ROWS)
def test_an_update_is_a_pair_side_by_side(
    kernel: Callable[[bool], Make], batch: Callable[[Sequence[Row]], list[Row]], rows: list[Row]
) -> None:
    kinds = [record.kind for record in run(kernel(True), inserts(rows))[0].emitted]
    assert kinds == ([INSERT] + [UPDATE_BEFORE, UPDATE_AFTER] * (len(kinds) // 2) if kinds else [])


@given(rows=ROWS, delay_ms=st.integers(0, 10))
def test_the_first_row_when_complete_is_the_batch_answer_over_rows_not_late(rows: list[Row], delay_ms: int) -> None:
    out, _ = run(when_complete, inserts(rows), watermarks(rows, delay_ms))
    late = {entry.seq for entry in out.lates}
    highest = [max((time for _, time in rows[:n]), default=None) for n in range(len(rows))]
    expected_late = {
        n + 1
        for n, (_, time) in enumerate(rows)
        if highest[n] is not None and time < highest[n] - delay_ms  # type: ignore[operator]
    }
    assert late == expected_late
    assert table_of(out.emitted) == first_by_time([row for n, row in enumerate(rows, start=1) if n not in late])
    assert all(record.kind == INSERT for record in out.emitted)


CHANGES = st.lists(st.one_of(st.none(), st.integers(0, 3)), max_size=30)


def changelog_of(values: Sequence[int | None], pairs: bool) -> list[Input]:
    """The changelog of one row: a value replaces the previous one, None deletes the row (by key only)."""
    records: list[Input] = []
    kept: int | None = None
    for seq, value in enumerate(values, start=1):
        if value is None:
            records += [Input(seq, DELETE, (None,))] if kept is not None else []
        elif kept is None:
            records.append(Input(seq, INSERT, (value,)))
        else:
            records += [Input(seq, UPDATE_BEFORE, (kept,))] if pairs else []
            records.append(Input(seq, UPDATE_AFTER, (value,), step=b"\x01"))
        kept = value
    return records


@pytest.mark.parametrize("pairs", [True, False], ids=["with -U", "without -U"])
@given(values=CHANGES)
def test_the_last_row_of_a_changelog_is_its_table(pairs: bool, values: list[int | None]) -> None:
    records = changelog_of(values, pairs)
    retracting, saved = run(on_changelog(), records)
    upserting, _ = run(on_changelog(False), records)
    expected = [(value,) for value in values[-1:] if value is not None]
    assert table_of(retracting.emitted) == expected
    assert upserted(upserting.emitted) == expected
    assert (saved is None) == (not expected)


@given(values=CHANGES)
def test_taking_everything_back_leaves_no_row_and_no_state(values: list[int | None]) -> None:
    records = [*changelog_of(values, pairs=True), Input(len(values) + 1, DELETE, (None,))]
    out, saved = run(on_changelog(), records)
    assert table_of(out.emitted) == []
    assert saved is None


KERNELS: dict[str, Make] = {
    "last by event time": by_time(True),
    "last by event time, without -U": by_time(True, False),
    "first by event time, at once": by_time(False),
    "first by event time, when complete": when_complete,
    "first by arrival": KeepFirstColumns,
    "last by arrival": by_arrival(),
    "last on a changelog": on_changelog(),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@given(rows=ROWS, delay_ms=st.integers(0, 10), cuts=st.sets(st.integers(1, 30)))
def test_cutting_the_input_into_epochs_changes_no_byte(
    kernel: Make, rows: list[Row], delay_ms: int, cuts: set[int]
) -> None:
    line = watermarks(rows, delay_ms)
    whole, _ = run(kernel, inserts(rows), line)
    parts: list[Output] = []
    saved: Saved | None = None
    bounds = [0, *sorted(cut for cut in cuts if cut <= len(rows)), len(rows) + 1]
    for first, last in zip(bounds, bounds[1:], strict=False):
        inside = (line.seqs > first) & (line.seqs <= last)
        part = Timeline(line.at(first), line.seqs[inside], line.marks[inside])
        records = [item for item in inserts(rows) if first < item.seq <= last]
        out, saved = run(kernel, records, part, saved=pickle.loads(pickle.dumps(saved)))
        parts.append(out)
    assert [record for out in parts for record in out.emitted] == whole.emitted
    assert [entry for out in parts for entry in out.lates] == whole.lates
