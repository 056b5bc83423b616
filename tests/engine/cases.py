"""Kernel cases as aligned text tables: records in, changelog out. The cases also run cut into epochs.

    Case(
        "a later row replaces the earlier one",
        kernel=lambda: LastRow(...),
        key=("k",),
        given='''
            seq  kind  k   v   rt    wm
            1    +I    k1  10  1000  500
            2    +I    k1  20  2000  1500
            3    wm                  MAX
        ''',
        expect='''
            seq  kind  k   v   rt
            1    +I    k1  10  1000
            2    -U    k1  10  1000
            2    +U    k1  20  2000
        ''',
    )

The first line names the columns. In `given`, `seq` and `kind` are followed by the columns of the kernel's
row; `port` is the input's port and `wm` the watermark AFTER that event (at any position, `.` if it does not
rise). Several records may share an event, such as those that another operator emits. A line of the kind
`wm` is an event without a record: only its watermark is read. With `watermark=("rt", 500)` the watermark
after a record is max(rt) - 500 instead. `key` names the columns by which records are grouped; one kernel
serves all keys in turn, as in a partition.

With `clock`, the column of this name is the recorded clock at each record, by which state expires; it is no part of the
row, and never falls.

With `bundle=3`, mini-batch: a bundle ends with every third record, whatever its key, and with every rise of
the watermark. The kernel does not see a bundle that is open at the end.

Cells: `NULL`, `true`, `false`, integers, floats, decimals as `1.50d`, `MAX` and `MIN` (watermarks), lists
`[a,b]`, `'text with blanks'`, else text. `late`, `used` and `fires` are optional tables:
`seq time start end wm lateness` twice, of the late records that were dropped or missed a window, and of those that
were used; and `seq start end`. Without `late` and `used`, no record may be late.

    test = check_cases(CASES)      # one test per case, its title the id
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import ndiff
from typing import Any, Protocol, cast

import pyarrow as pa
import pytest

from engine.columnar.in_process import ChunkLoop
from engine.contract.bundling import Bundling
from engine.contract.columnar_kernel import ColumnarKernel, Layout
from engine.contract.kernel import Emitted, Input, Kernel, Key, Late, Loop, Output, Saved, run_key
from engine.contract.state_in_words import Label, Names
from engine.local.keyed import plain_loop
from engine.mini_batch.bundles import Bundles, KeyedRecord
from engine.model.changelog import SYMBOLS, ChangelogMode, RowKind
from engine.model.position import ordinal
from engine.model.row import Row
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK, Timeline
from engine.model.type_texts import spark_type

_CELL = re.compile(r"'[^']*'|\[[^\]]*\]|\S+")
_WORDS = {"NULL": None, "true": True, "false": False, "MAX": MAX_WATERMARK, "MIN": MIN_WATERMARK}
_INTEGER = re.compile(r"[+-]?\d+")
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?|nan|[+-]?inf")
_DECIMAL = re.compile(r"([+-]?\d+(\.\d+)?)d")


@dataclass(frozen=True)
class Case:
    """A titled case: the input of a kernel and its expected output. The module's docstring has the format."""

    title: str
    given: str
    expect: str
    kernel: Callable[[], Kernel] | None = None
    key: tuple[str, ...] = ()
    watermark: tuple[str, int] | None = None
    late: str = ""
    used: str = ""
    fires: str | None = None
    ports: int = 1
    bundle: int | None = None
    columnar: Callable[[Layout], ColumnarKernel] | None = None
    """Instead of `kernel`: a columnar kernel that is the only telling of its rule."""
    mode: ChangelogMode | None = None
    """The declared changelog mode: no other kind may be emitted."""
    leaves_state: bool | None = None
    """Whether there must be state at the end; None: not checked."""


@dataclass
class Result:
    """The output of all keys, in order of position, and the state of each key."""

    emitted: list[Emitted]
    lates: list[Late]
    fires: set[tuple[int, int, int]]
    saved: dict[Key, Saved]


@dataclass(frozen=True)
class Given:
    """A parsed input: the records of each key, the watermark's timeline, and the recorded clock."""

    records: tuple[KeyedRecord, ...]
    timeline: Timeline
    clock: Timeline

    @property
    def seqs(self) -> list[int]:
        """All events, with or without a record."""
        return sorted({item.seq for _, item in self.records} | {int(seq) for seq in self.timeline.seqs})

    def between(self, first: int, last: int) -> list[KeyedRecord]:
        """The records of the epoch with the events (first, last]; a bundle belongs to the epoch in which it ends."""
        return [
            each
            for each in self.records
            if first < (each.record.seq if each.record.end is None else each.record.end.seq) <= last
        ]


class CaseTest(Protocol):
    """The test function of a table of cases."""

    cases: Sequence[Case]

    def __call__(self, case: Case) -> None:
        """Run one case."""


def check_cases(cases: Sequence[Case]) -> CaseTest:
    """The test function of these cases, with their titles as ids."""

    @pytest.mark.parametrize("case", cases, ids=lambda case: case.title)
    def test(case: Case) -> None:
        check(case)

    table = cast(CaseTest, test)
    table.cases = cases
    return table


def check(case: Case) -> None:
    """Run a case in one epoch, then cut at every event; fail with a readable difference."""
    given = parse_given(case)
    whole = run_epochs(case, given, [])
    compare_all(case, whole)
    if case.mode is not None:
        outside = {SYMBOLS[e.kind] for e in whole.emitted if RowKind(e.kind) not in case.mode}
        assert not outside, f"{sorted(outside)} came out, but the mode is {case.mode}"
    if case.leaves_state is not None:
        assert bool(whole.saved) == case.leaves_state, f"kept at the end: {whole.saved}"
    events = given.seqs
    for cuts in [*([seq] for seq in events), events]:
        parts = run_epochs(case, given, cuts)
        where = f"cut into epochs after {', '.join(map(str, cuts))}"
        # As texts: NaN does not equal itself.
        assert str(parts.emitted) == str(whole.emitted), f"{where}:\n{_difference(whole.emitted, parts.emitted)}"
        assert parts.lates == whole.lates, f"{where}:\n{_difference(whole.lates, parts.lates)}"
        assert parts.fires == whole.fires, where


def run_epochs(case: Case, given: Given, cuts: Sequence[int]) -> Result:
    """Run a case cut into epochs after these events; state and timers are pickled in between, as in a real run."""
    result = Result([], [], set(), {})
    bounds = [0, *cuts, max([0, *given.seqs])]
    for first, last in zip(bounds, bounds[1:], strict=False):
        timeline = _between(given.timeline, first, last)
        records = given.between(first, last)
        before: dict[Key, Saved] = pickle.loads(pickle.dumps(result.saved))
        by_key: dict[Key, list[Input]] = {key: [] for key in before}
        for key, record in records:
            by_key.setdefault(key, []).append(record)
        result.saved.clear()
        for key, inputs in by_key.items():
            loop = _loop(case, given, timeline)
            saved = run_key(loop, inputs, timeline, key, before.get(key))
            check_description(loop, saved, given=given)
            if saved is not None:
                result.saved[key] = saved
            result.emitted += loop.out.emitted
            result.lates += loop.out.lates
            result.fires.update(loop.out.fired)
    result.emitted.sort(key=lambda e: (e.seq, e.step))
    result.lates.sort(key=lambda e: (e.seq, e.step))
    return result


def _loop(case: Case, given: Given, timeline: Timeline) -> Loop:
    if case.kernel is not None:
        return plain_loop(case.kernel, timeline, ports=case.ports, now=given.clock.at)
    assert case.columnar is not None, "a case has a kernel"
    keys, values, output = types_of(case, given)
    layout = Layout(_arrow(keys), tuple(map(_arrow, values)), _arrow(output))
    return ChunkLoop(case.columnar, layout, timeline, Output(timeline), given.clock.at)


def _arrow(types: Sequence[str]) -> tuple[pa.DataType, ...]:
    return tuple(spark_type(type_).arrow for type_ in types)


def types_of(case: Case, given: Given) -> tuple[list[str], list[list[str]], list[str]]:
    """The types of the key, of each port's values, and of the output, inferred from their values."""
    records, (_, expected) = given.records, parse(case.expect)
    values = [_types(each.record.row for each in records if each.record.port == port) for port in range(case.ports)]
    return _types(each.key for each in records), values, _types(tuple(line[2:]) for line in expected)


def _types(rows: Iterable[Sequence[Any]]) -> list[str]:
    return [_type([value for value in column if value is not None]) for column in zip(*rows, strict=True)]


def _type(values: Sequence[Any]) -> str:
    first = values[0] if values else 0
    if isinstance(first, Decimal):
        return f"decimal(38,{-min(int(value.as_tuple().exponent) for value in values)})"
    if isinstance(first, list):
        return f"array<{_type([part for value in values for part in value if part is not None])}>"
    return {bool: "boolean", int: "bigint", float: "double", str: "string"}[type(first)]


def check_description(loop: Loop, saved: Saved | None, given: Given) -> None:
    """Check that a kernel can describe its state, and that the description does not change it."""
    widths: dict[int, int] = {}
    for _, item in given.records:
        widths[item.port] = max(len(item.row), widths.get(item.port, 0))
    ports = range(max(widths, default=0) + 1)
    names = Names(
        tuple(tuple(Label(f"v{at}") for at in range(widths.get(port, 0))) for port in ports),
        tuple(Label(f"out{at}") for at in range(40)),
    )
    before = pickle.dumps(saved)
    described = loop.describe(names)
    assert pickle.dumps(saved) == before, "describing the state has changed it"
    assert described or saved is None or saved.state is None, f"it keeps {saved} and says nothing of it"
    for table in described:
        assert table.rows, table
        assert all(len(row) == len(table.columns) for row in table.rows), table


def compare_all(case: Case, result: Result) -> None:
    """Fail if a case expects another changelog, other late records or other fired windows."""
    compare("the changelog", case.expect, [(e.seq, SYMBOLS[e.kind], *e.row) for e in result.emitted])
    for expected, is_used in ((case.late, False), (case.used, True)):
        late = [
            (e.seq, e.event_time_ms, e.window_start_ms, e.window_end_ms, e.watermark_ms, e.lateness_ms)
            for e in result.lates
            if bool(e.used) is is_used
        ]
        compare("the ledger of records late but used" if is_used else "the late ledger", expected, late)
    if case.fires is not None:
        compare("the fired windows", case.fires, sorted(result.fires))


def parse_given(case: Case) -> Given:
    """The records and the timeline of a case. Raises AssertionError for a malformed table."""
    names, lines = parse(case.given)
    places = [at for at, name in enumerate(names) if name not in ("seq", "kind", "port", "wm", "clock")]
    key_places = [names.index(name) for name in case.key]
    records: list[KeyedRecord] = []
    steps: list[tuple[int, int]] = []
    clock: list[tuple[int, int]] = []
    top = MIN_WATERMARK
    # Records of one event, such as those that another operator emits, differ in their step.
    events = [cells[0] for cells in lines if cells[1] != "wm"]
    together = {seq for seq in events if events.count(seq) > 1}
    for at, cells in enumerate(lines):
        if cells[1] == "wm":
            steps.append((cells[0], cells[-1]))
            continue
        assert len(cells) == len(names), f"{cells} does not fit {names}"
        named = dict(zip(names, cells, strict=True))
        clock.append((named["seq"], named.get("clock", MIN_WATERMARK)))
        row = tuple(cells[at] for at in places)
        kind = RowKind.of(named["kind"]).value
        step = ordinal(at) if named["seq"] in together else b""
        item = Input(named["seq"], kind, row, named.get("port", 0), step)
        records.append(KeyedRecord(tuple(cells[at] for at in key_places), item))
        if case.watermark is not None:
            column, delay_ms = case.watermark
            top = max(top, named[column] - delay_ms)
            steps.append((named["seq"], top))
        elif named.get("wm", ".") != ".":
            steps.append((named["seq"], named["wm"]))
    timeline = Timeline.of(steps)
    if case.bundle is not None:
        bundles = Bundles(Bundling(case.bundle), timeline.seqs, 0)
        records = [each for each in bundles.bundled(records, case.ports) if each.record.end is not None]
    return Given(tuple(records), timeline, Timeline.of(clock))


def parse(table: str) -> tuple[list[str], list[list[Any]]]:
    """A text table as its column names and its lines of values."""
    lines = [line for line in table.splitlines() if line.strip()]
    if not lines:
        return [], []
    return lines[0].split(), [[value(cell) for cell in _CELL.findall(line)] for line in lines[1:]]


def value(cell: str) -> Any:
    """One cell as a Python value."""
    if cell in _WORDS:
        return _WORDS[cell]
    if _INTEGER.fullmatch(cell):
        return int(cell)
    if match := _DECIMAL.fullmatch(cell):
        return Decimal(match[1])
    if _FLOAT.fullmatch(cell):
        return float(cell)
    if cell.startswith("["):
        inner = cell[1:-1].strip()
        return [value(part.strip()) for part in inner.split(",")] if inner else []
    return cell[1:-1] if cell.startswith("'") else cell


def compare(what: str, expected: str, got: Iterable[Row]) -> None:
    """Fail with both tables, aligned, and their difference if they are not equal."""
    names, lines = parse(expected)
    wanted = [tuple(line) for line in lines]
    have = [tuple(row) for row in got]
    if [repr(row) for row in wanted] != [repr(row) for row in have]:
        pytest.fail(f"{what} differs (- expected, + got)\n{_difference(wanted, have, names)}", pytrace=False)


def _difference(wanted: Sequence[Row], have: Sequence[Row], names: Sequence[str] = ()) -> str:
    rows = [list(map(_text, row)) for row in (*wanted, *have)]
    heading = [list(names)] if names else []
    widths = [max(map(len, column)) for column in zip(*heading, *rows, strict=False)]
    align = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
    title = ["  " + "  ".join(name.ljust(width) for name, width in zip(names, widths, strict=False))]
    return "\n".join([*(title if names else []), *ndiff(align[: len(wanted)], align[len(wanted) :])])


def _text(cell: Any) -> str:
    if cell is None:
        return "NULL"
    return f"{cell}d" if isinstance(cell, Decimal) else str(cell)


def _between(line: Timeline, first: int, last: int) -> Timeline:
    inside = (line.seqs > first) & (line.seqs <= last)
    return Timeline(line.at(first), line.seqs[inside], line.marks[inside])
