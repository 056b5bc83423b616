"""Checks that a columnar kernel equals the plain one, record for record, for any cut of its input.

    RULES = Rules(
        plain=lambda: RowTimeKernel(...),
        columnar=lambda layout: RowTimeColumns(layout, ...),
        layout=Layout(keys=(pa.string(),), values=((pa.int64(), pa.int64()),), output=(pa.int64(), pa.int64())),
    )

    @given(inputs(keys=KEYS, rows=ROWS))
    def test_...(given): check_equal(RULES, given)

`inputs` draws sorted records of several keys, ports and events (some with several records per event), a timeline if
the rule uses time, the events after which an epoch ends, and the sizes of the chunks of an epoch's records: chunks are
cut between keys, inside keys, or after each record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from engine.columnar.in_process import chunk_of, emitted_of, expired_entries, fired_of, lates_of
from engine.columnar.rules import rule_of
from engine.contract.columnar_kernel import BEFORE, STAYS, Advanced, Chunk, ColumnarKernel, Layout, OfKinds, no_state
from engine.contract.expired import Expired
from engine.contract.kernel import Emitted, Input, Kernel, Key, Late, Saved, run
from engine.model.row import Row
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline

INSERTS = (0,)
ALL_KINDS = (0, 1, 2, 3)


@dataclass(frozen=True)
class Rules:
    """The kernels of one rule. uses_time: whether records come with watermarks.

    plain: None if the columnar kernel is the only telling. same_keys: whether it keeps state of the same keys as the
    plain one.
    """

    plain: Callable[[], Kernel] | None
    columnar: Callable[[Layout], ColumnarKernel]
    layout: Layout
    uses_time: bool = False
    same_keys: bool = True


@dataclass(frozen=True)
class Given:
    """Records in order of position.

    epochs: the events after which an epoch ends. chunks: the sizes of an epoch's chunks, repeated cyclically; without
    any, an epoch is one chunk. now: the recorded clock, if state expires.
    """

    records: tuple[tuple[Key, Input], ...]
    timeline: Timeline = field(default_factory=lambda: Timeline.of([]))
    epochs: tuple[int, ...] = ()
    chunks: tuple[int, ...] = ()
    now: Timeline | None = None


@dataclass
class Result:
    """The output, in order of position, and the keys with state after each epoch.

    changes: of a kernel that tells its entries, by event and kind how many more there are after it.
    """

    emitted: list[Emitted] = field(default_factory=list)
    lates: list[Late] = field(default_factory=list)
    fired: set[tuple[int, int, int]] = field(default_factory=set)
    expired: list[Expired] = field(default_factory=list)
    kept: list[set[Key]] = field(default_factory=list)
    changes: Counter[tuple[int, int]] = field(default_factory=Counter)

    def sort(self) -> Result:
        self.emitted.sort(key=lambda record: (record.seq, record.step))
        self.lates.sort(key=lambda entry: (entry.seq, entry.step))
        self.expired.sort(key=lambda entry: (entry.seq, entry.step))
        return self


def check_equal(rules: Rules, given: Given) -> Result:
    """Run both kernels, and fail if they differ. The plain one gets whole keys, the columnar one chunks."""
    expected = run_plain(rules, given)
    found = run_columnar(rules, given)
    assert _shown(found.emitted) == _shown(expected.emitted)
    positions = [(record.seq, record.step) for record in found.emitted]
    assert len(set(positions)) == len(positions), "two records have one position"
    assert found.lates == expected.lates
    assert found.fired == expected.fired
    assert found.expired == expected.expired
    if rules.same_keys:
        assert found.kept == expected.kept
    return found


def _shown(emitted: Sequence[Emitted]) -> list[str]:
    """The records as texts, so that NaN equals NaN, but -0.0 differs from 0.0, and 1 from True."""
    return [f"{record.seq} {record.step.hex()} {record.kind} {record.row!r}" for record in emitted]


def check_cuts(rules: Rules, given: Given) -> Result:
    """Run a rule that is told once over its whole input and over the parts, and fail if the results differ."""
    whole = run_columnar(rules, replace(given, epochs=(), chunks=()))
    found = run_columnar(rules, given)
    assert _shown(found.emitted) == _shown(whole.emitted)
    assert found.lates == whole.lates
    assert found.fired == whole.fired
    assert found.kept[-1] == whole.kept[-1]
    assert +found.changes == +whole.changes
    assert -found.changes == -whole.changes
    return whole


def run_both_ways(rule: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a kernel's rule is run compiled and interpreted, and has to find the same."""
    told = rule_of(rule)
    compiled = told.compiled(waits=True)
    assert compiled is not None

    def both(*arguments: Any) -> Any:
        found = compiled(*arguments)
        for one, other in zip(found, told.interpreted(*arguments), strict=True):
            assert one.tolist() == other.tolist()
        return found

    monkeypatch.setattr(told, "compiled", lambda *, is_wanted: both)


def run_plain(rules: Rules, given: Given) -> Result:
    """Run the plain kernel, key by key."""
    result, saved = Result(), dict[Key, Saved]()
    assert rules.plain is not None
    kernel = rules.plain()
    for timeline, records in _epochs(given):
        for key, items in _by_key(records, saved).items():
            out, left = run(
                kernel,
                [item._replace(row=_read(item.row)) for item in items],
                timeline,
                key=key,
                saved=saved.pop(key, None),
                rank=rules.layout.rank,
                ports=len(rules.layout.values),
                now=None if given.now is None else given.now.at,
            )
            result.expired += out.expired
            result.emitted += out.emitted
            result.lates += out.lates
            result.fired.update(out.fired)
            if left is not None:
                saved[key] = left
        result.kept.append(set(saved))
    return result.sort()


def _read(row: Row) -> Row:
    """A row as a worker reads it: every NaN is a new object, so that it is not identical to an earlier NaN."""
    return tuple(float("nan") if value != value else value for value in row)


def run_columnar(rules: Rules, given: Given) -> Result:
    """Run the columnar kernel, chunk by chunk. A key's state is passed in again with its next records."""
    result, states = Result(), dict[Key, pa.RecordBatch]()
    for timeline, records in _epochs(given):
        for chunk in _chunks(_by_key(records, states), given.chunks):
            kernel = rules.columnar(rules.layout)
            nothing = no_state(kernel.state_schema)
            before = [states.pop(key, nothing) for key in chunk.keys]
            batch = chunk_of(
                rules.layout,
                chunk.keys,
                chunk.records,
                before,
                timeline,
                goes_on=chunk.goes_on,
                now=None if given.now is None else given.now.at,
            )
            advanced = kernel.advance(batch, timeline)
            _take_in(result, rules, batch, advanced)
            if isinstance(kernel, OfKinds):
                _count(result, kernel, batch, advanced)
            states.update(_states(kernel, chunk.keys, advanced.state))
        result.kept.append(set(states))
    return result.sort()


@dataclass
class _Part:
    """A chunk before conversion: keys, their records as (index of the key, record), whether the last key continues."""

    keys: list[Key] = field(default_factory=list)
    records: list[tuple[int, Input]] = field(default_factory=list)
    goes_on: bool = False


def _chunks(keys: dict[Key, list[Input]], sizes: Sequence[int]) -> Iterator[_Part]:
    part, turn = _Part(), 0
    for key, items in keys.items():
        part.keys.append(key)
        for at, item in enumerate(items):
            part.records.append((len(part.keys) - 1, item))
            if sizes and len(part.records) >= sizes[turn % len(sizes)]:
                part.goes_on = at + 1 < len(items)
                yield part
                part, turn = _Part([key] if part.goes_on else []), turn + 1
    if part.keys:
        yield part


def _states(kernel: ColumnarKernel, keys: Sequence[Key], state: pa.RecordBatch) -> dict[Key, pa.RecordBatch]:
    assert state.schema == no_state(kernel.state_schema).schema
    state.validate(full=True)
    groups = state.column(0).to_pylist()
    assert groups == sorted(groups), "the groups of the state rise"
    sizes = Counter(groups)
    return {keys[group]: state.slice(groups.index(group), size) for group, size in sizes.items()}


def _take_in(result: Result, rules: Rules, chunk: Chunk, advanced: Advanced) -> None:
    emitted = advanced.emitted
    assert tuple(column.type for column in emitted.columns) == rules.layout.output
    assert emitted.seqs.dtype == np.int64
    assert emitted.kinds.dtype == np.int8
    for array in (emitted.steps, *emitted.columns):
        array.validate(full=True)
    result.emitted += emitted_of(advanced)
    result.lates += lates_of(advanced, chunk)
    result.fired.update(fired_of(advanced))
    result.expired += expired_entries(advanced, chunk)


def _count(result: Result, kernel: OfKinds, chunk: Chunk, advanced: Advanced) -> None:
    """Add the entries that come and go. Those that were there before, and those that stay, are those of the states."""
    stays = advanced.stays
    assert stays is not None
    assert stays.sample.schema == no_state(kernel.state_schema).schema
    told = [Counter[tuple[int, int]](), Counter[tuple[int, int]]()]
    columns = (column.tolist() for column in stays[:4])
    for group, kind, comes, goes in zip(*columns, strict=True):
        assert comes <= goes
        told[0][group, kind] += comes == BEFORE
        told[1][group, kind] += goes == STAYS
        result.changes[comes, kind] += comes != BEFORE
        result.changes[goes, kind] -= goes != STAYS
    for counts, state in zip(told, (chunk.state, advanced.state), strict=True):
        rows = zip(state.column(0).to_pylist(), kernel.kinds(state).tolist(), strict=True)
        assert +counts == Counter(row for row in rows if row[1] >= 0)


def _epochs(given: Given) -> Iterator[tuple[Timeline, list[tuple[Key, Input]]]]:
    line = given.timeline
    top = max([0, *(item.seq for _, item in given.records), *line.seqs.tolist()])
    bounds = [0, *sorted(cut for cut in set(given.epochs) if cut < top), top]
    for first, last in zip(bounds, bounds[1:], strict=False):
        inside = (line.seqs > first) & (line.seqs <= last)
        part = Timeline(line.at(first), line.seqs[inside], line.marks[inside])
        yield part, [(key, item) for key, item in given.records if first < item.seq <= last]


def _by_key(records: Sequence[tuple[Key, Input]], kept: dict[Key, Any]) -> dict[Key, list[Input]]:
    """The records of each key, including keys that only have state, sorted by key."""
    found: dict[Key, list[Input]] = {key: [] for key in sorted({*kept, *(key for key, _ in records)}, key=repr)}
    for key, item in records:
        found[key].append(item)
    return found


def inputs(
    *,
    keys: st.SearchStrategy[Key],
    rows: st.SearchStrategy[Row] | Sequence[st.SearchStrategy[Row]],
    kinds: Sequence[int] = INSERTS,
    time_at: Sequence[int] | None = None,
    min_size: int = 0,
    max_size: int = 30,
    has_clock: bool = False,
) -> st.SearchStrategy[Given]:
    """Records, with random cuts. has_clock: and with a recorded clock, which need not have begun.

    rows: a strategy, or one per port. time_at: by port, the index of a row's time in ms, which determines the
    watermark; without it there is no watermark. Rows without a time do not advance it.
    """
    by_port = rows if isinstance(rows, Sequence) else [rows]
    row = st.one_of(*[st.tuples(st.just(port), strategy) for port, strategy in enumerate(by_port)])
    records = st.lists(
        st.tuples(keys, row, st.sampled_from(kinds), st.booleans()), min_size=min_size, max_size=max_size
    )
    return _inputs(records, time_at, has_clock)


_Drawn = list[tuple[Key, tuple[int, Row], int, bool]]


# What is drawn of each example has a strategy that is made once: hypothesis examines every new one.
@st.composite
def _inputs(
    draw: st.DrawFn, wanted: st.SearchStrategy[_Drawn], time_at: Sequence[int] | None, has_clock: bool
) -> Given:
    drawn = draw(wanted)
    path, together, delay = draw(_WAYS)
    records: list[tuple[Key, Input]] = []
    steps: list[tuple[int, int]] = []
    seq, at, top = 0, 0, MIN_WATERMARK
    for key, (port, values), kind, same_event in drawn:
        # Some events have no record.
        seq, at = (seq, at + 1) if together and same_event and seq else (seq + 1 + len(records) % 3 // 2, 0)
        records.append((key, Input(seq, kind, values, port, path(at) if together else b"")))
        time = values[time_at[port]] if time_at is not None else None
        if time is not None:
            top = max(top, time - delay)
            steps.append((seq, top))
    if time_at is not None and draw(_ENDS):
        steps.append((seq + 1, MAX_WATERMARK))
    epochs = draw(_cuts(max(1, seq)))
    chunks = draw(_CHUNKS)
    now = draw(_clock(seq)) if has_clock else None
    return Given(tuple(records), Timeline.of(_last_of_events(steps)), tuple(sorted(epochs)), tuple(chunks), now)


@cache
def _cuts(last_seq: int) -> st.SearchStrategy[set[int]]:
    return st.sets(st.integers(1, last_seq), max_size=4)


@cache
def _clock(last_seq: int) -> st.SearchStrategy[Timeline]:
    """A clock that begins at some event, and stands still or moves by some ms."""
    moves = st.lists(st.sampled_from([0, 0, 1, 2, 5]), min_size=last_seq, max_size=last_seq)
    return st.builds(_moved, st.integers(1, 3), moves)


def _moved(first: int, moves: Sequence[int]) -> Timeline:
    return Timeline.of([(seq, sum(moves[:seq])) for seq in range(first, len(moves) + 1)])


def _last_of_events(steps: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """One watermark per event: that after its last record."""
    return sorted(dict(steps).items())


# The paths of one event's records: of equal length, of different lengths, emitted by a timer, and mixed.
_PATHS: tuple[Callable[[int], bytes], ...] = (
    lambda at: bytes([at]),
    lambda at: bytes([at]) + b"\x00" * (at % 3),
    lambda at: b"\xff\x00" + bytes([at]) + b"\x07" * (at % 2),
    lambda at: b"" if at == 0 else bytes([at + 1, 5]),
)
_WAYS = st.tuples(st.sampled_from(_PATHS), st.booleans(), st.integers(0, 10))
_ENDS = st.booleans()
_CHUNKS = st.lists(st.integers(1, 6), max_size=4)
