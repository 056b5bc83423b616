"""Properties of Top N: the output always equals the batch answer, and retracting all rows leaves no state."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.in_process import ChunkLoop
from engine.contract.columnar_kernel import Layout
from engine.contract.kernel import Emitted, Input, Output, Saved, run_key
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from engine.model.timeline import Timeline
from engine.ranking.sort_keys import sort_key_of
from tests.engine.operators.topn.tables import Make, columns, sort_columns

Row = tuple[Any, ...]
NAMES = ("id", "v", "w")
ORDERS = ("v", "v DESC", "v NULLS LAST, w DESC", "v DESC NULLS FIRST")

values = st.one_of(st.none(), st.integers(0, 4))
rows = st.tuples(st.integers(0, 2), values, st.sampled_from(["a", "b", "ö"]))
ranges = st.tuples(st.integers(1, 3), st.integers(0, 3), st.booleans()).map(lambda r: (r[0], r[0] + r[1], r[2]))


def run_part(
    make: Make, ranks: tuple[int, int, bool], inputs: Sequence[Input], saved: Saved | None = None
) -> tuple[Output, Saved | None]:
    """The output of a columnar kernel for a part of an input, and its state."""
    types = (pa.int64(), pa.int64(), pa.string())
    layout = Layout((), (types,), (*types, *([pa.int64()] if ranks[2] else [])))
    out, timeline = Output(Timeline.of([])), Timeline.of([])
    return out, run_key(ChunkLoop(make, layout, timeline, out, lambda seq: seq), inputs, timeline, (), saved)


def retracted(
    order: str, ranks: tuple[int, int, bool], inputs: Sequence[Input], saved: Saved | None = None
) -> tuple[Output, Saved | None]:
    """The output of Retract and its state."""
    return run_part(columns(NAMES, order, ranks, True), ranks, inputs, saved)


def batch(table: Sequence[Row], order: str, ranks: tuple[int, int, bool]) -> Counter[Row]:
    """The answer of a batch query over the rows in order of arrival."""
    start, end, with_rank = ranks
    best = sorted(table, key=sort_key_of(sort_columns(order, NAMES)))
    numbered = [(*row, rank) if with_rank else row for rank, row in enumerate(best, 1)]
    return Counter(numbered[start - 1 : end])


def apply(table: Counter[Row], emitted: Sequence[Emitted]) -> None:
    """Apply a changelog to a table, strictly: retracted rows must be present."""
    for record in emitted:
        if record.kind in (INSERT, UPDATE_AFTER):
            table[record.row] += 1
        else:
            assert table[record.row] > 0, record
            table[record.row] -= 1
            table += Counter()


def changes_of(steps: Sequence[tuple[int, Row]]) -> tuple[list[Input], list[Row]]:
    """A changelog, and the remaining rows. The oldest of equal rows is retracted first."""
    table: list[Row] = []
    inputs: list[Input] = []
    for choice, row in steps:
        if choice < 6 or not table:
            inputs.append(Input(len(inputs) + 1, INSERT if choice % 2 else UPDATE_AFTER, row))
            table.append(row)
        else:
            gone = table.pop(table.index(table[choice % len(table)]))
            inputs.append(Input(len(inputs) + 1, DELETE if choice % 2 else UPDATE_BEFORE, gone))
    return inputs, table


@given(st.lists(st.tuples(st.integers(0, 9), rows), max_size=25), st.sampled_from(ORDERS), ranges)
def test_retract_is_the_batch_answer_after_every_record(
    steps: list[tuple[int, Row]], order: str, ranks: tuple[int, int, bool]
) -> None:
    inputs, table = changes_of(steps)
    out, saved = retracted(order, ranks, inputs)
    assert_follows(inputs, out.emitted, order, ranks)
    back = [Input(len(inputs) + n, DELETE, row) for n, row in enumerate(table, 1)]
    rest, left = retracted(order, ranks, back, saved)
    assert left is None
    shown: Counter[Row] = Counter()
    apply(shown, [*out.emitted, *rest.emitted])
    assert not +shown


@given(st.lists(rows, max_size=25), st.sampled_from(ORDERS), ranges)
def test_append_fast_is_the_batch_answer_after_every_record(
    steps: list[Row], order: str, ranks: tuple[int, int, bool]
) -> None:
    inputs = [Input(seq, INSERT, row) for seq, row in enumerate(steps, 1)]
    out, saved = run_part(columns(NAMES, order, ranks, True, append=True), ranks, inputs)
    assert_follows(inputs, out.emitted, order, ranks)
    assert saved is None or saved.state.num_rows <= ranks[1]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.sampled_from("xyz")), max_size=30),
    ranges,
    st.booleans(),
)
def test_update_fast_is_the_batch_answer_after_every_record(
    steps: list[tuple[int, int, str]], ranks: tuple[int, int, bool], descending: bool
) -> None:
    sign = 1 if descending else -1
    now: dict[int, Row] = {}
    inputs: list[Input] = []
    for seq, (row_id, better, text) in enumerate(steps, 1):
        old = now.get(row_id)
        now[row_id] = row = (row_id, (old[1] if old else 0) + sign * better, text)
        inputs.append(Input(seq, INSERT if old is None else UPDATE_AFTER, row))
    order = "v DESC" if descending else "v"
    out, _ = run_part(columns(NAMES, order, ranks, True, ("id",)), ranks, inputs)
    shown: Counter[Row] = Counter()
    table: list[Row] = []
    for item in inputs:
        apply(shown, [e for e in out.emitted if e.seq == item.seq])
        place = next((at for at, row in enumerate(table) if row[0] == item.row[0]), None)
        if ranks[:2] == (1, 1):
            # A Top 1 treats every record as a new row.
            table.append(item.row)
        elif place is not None and table[place][1] == item.row[1]:
            table[place] = item.row
        else:
            table = [row for row in table if row[0] != item.row[0]] + [item.row]
        assert +shown == batch(table, order, ranks), item


@given(
    st.lists(st.tuples(st.sampled_from([INSERT, DELETE, UPDATE_AFTER]), rows), max_size=15),
    st.sampled_from(ORDERS),
    ranges,
    st.integers(0, 15),
    st.sampled_from([(None, False), (None, True), (("id",), False)]),
)
def test_epochs_change_nothing(
    steps: list[tuple[int, Row]],
    order: str,
    ranks: tuple[int, int, bool],
    cut: int,
    strategy: tuple[tuple[str, ...] | None, bool],
) -> None:
    row_key, append = strategy
    inputs = [Input(seq, INSERT if append else kind, row) for seq, (kind, row) in enumerate(steps, 1)]

    def part(some: Sequence[Input], saved: Saved | None = None) -> tuple[Output, Saved | None]:
        return run_part(columns(NAMES, order, ranks, True, row_key, append=append), ranks, some, saved)

    whole, _ = part(inputs)
    first, saved = part(inputs[:cut])
    second, _ = part(inputs[cut:], pickle.loads(pickle.dumps(saved)))
    assert first.emitted + second.emitted == whole.emitted


def assert_follows(
    inputs: Sequence[Input], emitted: Sequence[Emitted], order: str, ranks: tuple[int, int, bool]
) -> None:
    """Check after every record that the output equals the batch answer over the input so far."""
    shown: Counter[Row] = Counter()
    table: list[Row] = []
    for item in inputs:
        apply(shown, [record for record in emitted if record.seq == item.seq])
        if item.kind in (INSERT, UPDATE_AFTER):
            table.append(item.row)
        else:
            table.remove(item.row)
        assert +shown == batch(table, order, ranks), item
