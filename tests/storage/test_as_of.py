"""The table as of an event equals the changelog folded up to it, one record at a time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from storage import Store
from storage.changelogs.as_of import Order
from storage.recording import lifetimes
from storage.wanted import Filter
from tests.storage.beside import beside
from tests.storage.written_runs import Epoch, Event, columns, edge, plan, recorded

KINDS = st.sampled_from(["+I", "-U", "+U", "-D"])
ROWS = st.tuples(st.sampled_from(["a", "b", None]), st.none() | st.integers(0, 2))
SCHEMA = columns(k="string", v="bigint")
ORDERS: tuple[Order, ...] = ("key", "position", "newest")


@st.composite
def changelogs(draw: st.DrawFn) -> list[list[Event]]:
    """Any changelog at all, unpaired and retracting what is not there, cut into epochs."""
    records = draw(st.lists(st.tuples(KINDS, ROWS, st.integers(0, 1)), max_size=24))
    epochs: list[list[Event]] = [[]]
    seq, step = 1, 0
    for kind, row, advance in records:
        seq, step = (seq + 1, 0) if advance else (seq, step + 1)
        if draw(st.booleans()) and advance:
            epochs.append([])
        epochs[-1].append((seq, bytes([step]), kind, row))
    return epochs


def fold_by_key(events: list[Event]) -> Counter[tuple[object, ...]]:
    table: dict[object, tuple[object, ...]] = {}
    for _, _, kind, row in events:
        table.pop(row[0], None)
        if kind in ("+I", "+U"):
            table[row[0]] = row
    return Counter(table.values())


def fold_by_row(events: list[Event]) -> Counter[tuple[object, ...]]:
    table: Counter[tuple[object, ...]] = Counter()
    for _, _, kind, row in events:
        if kind in ("+I", "+U"):
            table[row] += 1
        elif table[row] > 0:
            table[row] -= 1
    return +table


@settings(max_examples=12, deadline=None)
@given(epochs=changelogs())
def test_time_travel_equals_folding(shared_store: Store, epochs: list[list[Event]]) -> None:
    infos = [edge("keyed", SCHEMA, "[I,UB,UA,D]", ["k"]), edge("whole", SCHEMA, "[I,UB,UA,D]")]
    everything = [event for events in epochs for event in events]
    written = [Epoch(n, {"keyed": events, "whole": events}) for n, events in enumerate(epochs)]
    with TemporaryDirectory() as folder:
        run_id = recorded(shared_store, Path(folder), plan(*infos), *written)
    as_of = shared_store.changelog.table_as_of
    previous: Counter[tuple[object, ...]] = Counter()
    for seq in range(max((event[0] for event in everything), default=0) + 2):
        seen = [event for event in everything if event[0] <= seq]
        table = as_of(run_id, "keyed", seq, order=ORDERS[seq % 3])
        assert Counter(row.values for row in table.rows) == fold_by_key(seen)
        table = as_of(run_id, "whole", seq)
        expected = fold_by_row(seen)
        assert Counter(row.values for row in table.rows) == expected
        assert table.total == expected.total()
        assert Counter(table.removed) == previous - expected
        previous = expected


def by_macro(store: Store, run_id: int, name: str, moments: range) -> list[Counter[tuple[object, ...]]]:
    """The table as of each of some events, as another client of the file asks for it."""
    each = (f'SELECT {seq} AS at, * FROM run_{run_id}."{name} as of"({seq})' for seq in moments)
    with beside(store) as database:
        rows = database.rows(" UNION ALL ".join(each))
    return [Counter(tuple(row[1:]) for row in rows if row[0] == seq) for seq in moments]


@settings(max_examples=6, deadline=None)
@given(epochs=changelogs(), known=st.integers(0, 3), portion=st.integers(1, 7))
def test_so_it_does_in_portions_of_any_size_and_where_lifetimes_are_not_noted_yet(
    shared_store: Store, epochs: list[list[Event]], known: int, portion: int
) -> None:
    """After so many epochs they were noted last. The macro is for whoever opens the file."""
    infos = [edge("keyed", SCHEMA, "[I,UB,UA,D]", ["k"]), edge("whole", SCHEMA, "[I,UB,UA,D]")]
    everything = [event for events in epochs for event in events]
    planned = plan(*infos)
    run_id = shared_store.runs.create("a run", planned.pipeline_json).run_id
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifetimes, "_PORTION", portion)
        recording = shared_store.record(run_id)
        recording.begin(planned)
        for number, events in enumerate(epochs):
            recording.commit(Epoch(number, {"keyed": events, "whole": events}).write(Path(folder), infos))
            if number < known:
                for each in shared_store.runs.edges(run_id):
                    shared_store.lifetimes.note(each)
        previous: Counter[tuple[object, ...]] = Counter()
        order = ORDERS[portion % 3]
        moments = range(max((event[0] for event in everything), default=0) + 2)
        macros = {name: by_macro(shared_store, run_id, name, moments) for name in ("keyed", "whole")}
        for seq in moments:
            seen = [event for event in everything if event[0] <= seq]
            for name, expected in (("keyed", fold_by_key(seen)), ("whole", fold_by_row(seen))):
                table = shared_store.changelog.table_as_of(run_id, name, seq, order=order)
                assert Counter(row.values for row in table.rows) == expected
                assert macros[name][seq] == expected
            assert Counter(table.removed) == previous - expected
            previous = expected


@pytest.fixture
def totals(store: Store, tmp_path: Path) -> int:
    info = edge("totals", columns(word="string", n="bigint", last="string"), "[I,UA,D]", ["word"])
    first = [(1, b"\0", "+I", ("b", 1, "x")), (2, b"\0", "+I", ("a", 1, "x")), (3, b"\0", "+U", ("b", 2, "x"))]
    second = [(4, b"\0", "-D", ("a", 1, "x")), (5, b"\0", "+I", ("c", 1, "y"))]
    return recorded(store, tmp_path, plan(info), Epoch(0, {"totals": first}), Epoch(1, {"totals": second}))


def test_the_rows_that_an_event_changed_are_marked(store: Store, totals: int) -> None:
    table = store.changelog.table_as_of(totals, "totals", 3)
    assert [(row.values, row.change, row.changed) for row in table.rows] == [
        (("a", 1, "x"), "", ()),
        (("b", 2, "x"), "updated", ("n",)),
    ]
    assert table.removed == ()


def test_the_rows_that_an_event_took_away_are_listed(store: Store, totals: int) -> None:
    table = store.changelog.table_as_of(totals, "totals", 4)
    assert [row.values for row in table.rows] == [("b", 2, "x")]
    assert table.removed == (("a", 1, "x"),)


def test_the_table_is_paged_searched_and_ordered(store: Store, totals: int) -> None:
    as_of = store.changelog.table_as_of
    assert [row.values[0] for row in as_of(totals, "totals", 9, offset=1, limit=1).rows] == ["c"]
    assert [row.values[0] for row in as_of(totals, "totals", 2, order="position").rows] == ["b", "a"]
    assert [row.values[0] for row in as_of(totals, "totals", 9, order="newest").rows] == ["c", "b"]
    found = as_of(totals, "totals", 9, filter=Filter(text="Y"))
    assert ([row.values[0] for row in found.rows], found.total) == (["c"], 1)
