"""What a run hands over edge by edge: loaded in step with it, seen only with its epoch, and gone where that fails."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from engine.contract.recorder import ClockFile, EdgeFile, EdgeView, EpochOutput
from engine.model.changelog import RowKind
from storage import Store
from storage.errors import StoreWriteFailed
from storage.model import RunStatus
from storage.recording import edge_files
from storage.recording.recorder import Recording
from tests.storage.written_runs import Epoch, Event, columns, edge, plan, write_edge, write_source

CLICKS = edge("clicks", columns(k="string", ts="bigint*"), watermark_delay_ms=5)
TOTALS = edge("totals", columns(k="string", n="bigint"), "[I,UB,UA]", ["k"])
SHOWN = edge(
    "shown",
    columns(total="bigint", key="string"),
    "[I,UB,UA]",
    ["key"],
    view=EdgeView("totals", "out", ("n", "k"), b"\0"),
)
OUT = edge("out", TOTALS.schema, TOTALS.mode, ["k"], view=EdgeView("totals", "out", ("k", "n")))
PLAN = plan(CLICKS, TOTALS, SHOWN, OUT, wires=[("clicks", "totals"), ("totals", "shown"), ("totals", "out")])
FIRST: list[Event] = [(1, b"\0", "+I", ("a", 1)), (2, b"\0", "-U", ("a", 1)), (2, b"\1", "+U", ("a", 2))]
SECOND: list[Event] = [(3, b"\0", "-U", ("a", 2)), (3, b"\1", "+U", ("a", 3)), (4, b"\0", "+I", ("b", 1))]


def begun(store: Store) -> Recording:
    run = store.runs.create("a run", PLAN.pipeline_json)
    recording = store.record(run.run_id)
    recording.begin(PLAN)
    return recording


def totals(number: int, events: list[Event], folder: Path) -> EpochOutput:
    return Epoch(number, {"totals": events}).write(folder, PLAN.edges)


def seen(store: Store, run_id: int, node: str = "totals") -> list[tuple[int, bytes]]:
    return [(record.seq, record.step) for record in store.changelog.page(run_id, node).records]


def test_what_is_taken_shows_with_its_epoch_and_is_not_loaded_again(store: Store, tmp_path: Path) -> None:
    recording = begun(store)
    output = totals(0, FIRST, tmp_path)
    files = output.edges["totals", "out"]
    recording.take(0, "totals", "out", files)
    recording.wait()
    assert seen(store, recording.run_id) == []
    # It was read: its file is not needed any more.
    Path(files[0].path).unlink()
    store.drafts.save("meanwhile", "{}")
    store.runs.rename(recording.run_id, "another name")
    recording.commit(output)
    assert seen(store, recording.run_id) == [(1, b"\0"), (2, b"\0"), (2, b"\1")]
    assert store.runs.edge(recording.run_id, "totals").counts[RowKind.UPDATE_AFTER] == 1


def test_what_goes_wrong_in_the_background_is_said_by_the_commit(store: Store, tmp_path: Path) -> None:
    recording = begun(store)
    output = totals(0, FIRST, tmp_path)
    recording.take(0, "totals", "out", (EdgeFile(str(tmp_path / "nowhere.parquet")),))
    recording.take(0, "clicks", "out", ())
    recording.wait()
    with pytest.raises(StoreWriteFailed, match="nowhere"):
        recording.commit(output)
    assert seen(store, recording.run_id) == []
    assert store.runs.get(recording.run_id).epochs_done == 0
    recording.commit(output)
    assert len(seen(store, recording.run_id)) == 3


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_run_that_ends_between_take_and_commit_leaves_nothing(store: Store, tmp_path: Path, cancelled: bool) -> None:
    recording = begun(store)
    recording.commit(totals(0, FIRST, tmp_path))
    recording.take(1, "totals", "out", totals(1, SECOND, tmp_path).edges["totals", "out"])
    recording.fail("that was it", cancelled=cancelled)
    run = store.runs.get(recording.run_id)
    assert run.status is (RunStatus.CANCELLED if cancelled else RunStatus.FAILED)
    assert len(seen(store, recording.run_id)) == run.records / 3 == 3
    store.runs.delete(recording.run_id)


def test_the_store_can_be_closed_while_an_epoch_is_open(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        recording = begun(store)
        recording.take(0, "totals", "out", totals(0, FIRST, tmp_path).edges["totals", "out"])
    with duckdb.connect(str(tmp_path / "s.duckdb")) as client:
        assert client.execute("SELECT count(*) FROM run_1.totals").fetchone() == (0,)


def test_another_attempt_at_an_epoch_takes_its_edges_anew(store: Store, tmp_path: Path) -> None:
    recording = begun(store)
    recording.take(0, "totals", "out", totals(0, FIRST, tmp_path / "first").edges["totals", "out"])
    again = store.record(recording.run_id)
    recording.abandon()
    again.begin(PLAN)
    again.commit(totals(0, FIRST, tmp_path / "again"))
    again.take(0, "totals", "out", totals(0, FIRST, tmp_path / "late").edges["totals", "out"])
    assert len(seen(store, recording.run_id)) == 3


def test_a_view_says_what_its_edge_says_under_its_own_names(store: Store, tmp_path: Path) -> None:
    recording = begun(store)
    recording.commit(totals(0, FIRST, tmp_path))
    recording.commit(totals(1, SECOND, tmp_path))
    recording.finish()
    run_id = recording.run_id
    page = store.changelog.page(run_id, "shown", offset=1, limit=2)
    assert page.columns == ("total", "key")
    assert [(each.row, each.seq, each.step, each.values) for each in page.records] == [
        (1, 2, b"\0\0", (1, "a")),
        (2, 2, b"\1\0", (2, "a")),
    ]
    assert store.runs.edge(run_id, "shown").counts == store.runs.edge(run_id, "totals").counts
    for seq in range(6):
        inner = [row.values for row in store.changelog.table_as_of(run_id, "totals", seq).rows]
        assert [row.values[::-1] for row in store.changelog.table_as_of(run_id, "shown", seq).rows] == inner
    assert [change.changed for change in store.changelog.changes(run_id, "shown").changes][1] == ("total",)
    assert store.flows.keys(run_id, "out") == store.flows.keys(run_id, "totals")


def test_a_view_is_a_table_to_whoever_opens_the_file(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        recording = begun(store)
        recording.commit(totals(0, FIRST, tmp_path))
        named = {table.name: table for table in store.catalog.tables("run_1")}
        assert (named["shown"].rows, named["totals"].rows) == (3, 3)
        assert named["shown"].comment.endswith("A view: its records are those of totals.")
        assert store.queries.run("SELECT total FROM shown WHERE key = 'a' ORDER BY seq, step", schema="run_1").rows == (
            (1,),
            (1,),
            (2,),
        )
        store.changelog.table_as_of(1, "totals", 2)
        recording.commit(totals(1, SECOND, tmp_path))
    with duckdb.connect(str(tmp_path / "s.duckdb"), read_only=True) as client:
        found = client.execute("FROM run_1.shown LIMIT 1")
        assert [column[0] for column in found.description] == ["seq", "step", "kind", "total", "key"]
        assert found.fetchall() == [(1, b"\0\0", "+I", 1, "a")]
        # The lifetimes are noted up to event 2: beyond it the macro folds.
        for seq, rows in {0: [], 1: [(1, "a")], 2: [(2, "a")], 3: [(3, "a")], 4: [(1, "b"), (3, "a")]}.items():
            assert sorted(client.execute(f'FROM run_1."shown as of"({seq})').fetchall()) == rows


@pytest.mark.parametrize("is_exact", [True, False])
def test_a_sources_files_are_numbered_and_only_what_is_meant_of_them_counts(
    store: Store, tmp_path: Path, is_exact: bool
) -> None:
    """is_exact: bounds are those of the rows that a file has, so that files follow each other."""
    recording = begun(store)
    rows = [(f"k{n}", n) for n in range(1, 7)]
    write_source(tmp_path / "a.parquet", CLICKS.schema, rows[:4], [10, 30, 20, None])
    write_source(tmp_path / "b.parquet", CLICKS.schema, rows[4:], [25, 40])
    a, b = str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")
    for epoch, low, high in ((0, 1, 3), (1, 4, 6)):
        of_a, of_b = ((low, min(high, 4)), (max(low, 5), high)) if is_exact else ((low, high), (low, high))
        files: tuple[EdgeFile, ...] = (EdgeFile(b, 5, *of_b), EdgeFile(a, 1, *of_a))
        clocks: tuple[ClockFile, ...] = (
            ClockFile(a, "clicks", 1, None, 5, *of_a),
            ClockFile(b, "clicks", 5, 30, 5, *of_b),
        )
        if is_exact and high < 5:
            files, clocks = files[1:], clocks[:1]
        recording.take(epoch, "clicks", "out", files)
        recording.commit(EpochOutput(epoch, {("clicks", "out"): files}, clocks, last_seq=high))
    page = store.changelog.page(recording.run_id, "clicks")
    assert [(each.row, each.seq, each.step, each.values) for each in page.records] == [
        (n - 1, n, b"", (f"k{n}", n)) for n in range(1, 7)
    ]
    assert store.runs.edge(recording.run_id, "clicks").counts[RowKind.INSERT] == 6
    assert store.queries.run("SELECT * FROM run_1._events").rows == (
        (1, "clicks", 10, 5, False, 10, "in time"),
        (2, "clicks", 30, 25, False, 30, "in time"),
        (3, "clicks", 20, 25, False, 30, "out of order"),
        (4, "clicks", None, 25, False, 30, None),
        (5, "clicks", 25, 25, False, 30, "out of order"),
        (6, "clicks", 40, 35, False, 40, "in time"),
    )
    assert store.queries.run("SELECT sum(records) FROM run_1._overview").rows == ((5,),)


def test_ends_and_late_records_are_put_where_they_belong(store: Store, tmp_path: Path) -> None:
    recording = begun(store)
    write_source(tmp_path / "a.parquet", CLICKS.schema, [("a", 1)] * 3, [10, 30, 2])
    write_source(tmp_path / "b.parquet", CLICKS.schema, [("b", 1)] * 2)
    clocks = (
        ClockFile(str(tmp_path / "b.parquet"), "untimed", 5, None, None, 5, 6),
        ClockFile(str(tmp_path / "a.parquet"), "clicks", 1, None, 5, 1, 3),
    )
    end = (1 << 63) - 1
    others = Epoch(
        watermarks=[(4, "clicks", None, end, True), (7, "untimed", None, end, True)],
        late=[("totals", "in", 3, b"", 2, 0, 10, 25, 16, "window closed")],
    ).write(tmp_path, PLAN.edges)
    recording.commit(replace(others, clocks=clocks, last_seq=7))
    assert store.queries.run("SELECT * FROM run_1._events").rows == (
        (1, "clicks", 10, 5, False, 10, "in time"),
        (2, "clicks", 30, 25, False, 30, "in time"),
        (3, "clicks", 2, 25, False, 30, "dropped"),
        (4, "clicks", None, end, True, 30, None),
        (5, "untimed", None, None, False, None, None),
        (6, "untimed", None, None, False, None, None),
        (7, "untimed", None, end, True, None, None),
    )
    assert store.queries.run("SELECT needed_delay_ms, source FROM run_1._late").rows == ((22, "clicks"),)


@pytest.mark.parametrize("sample", [3, edge_files._SAMPLE])
def test_steps_of_any_length_and_number_keep_the_order(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: int
) -> None:
    """sample: a part of the epoch, or all of it."""
    monkeypatch.setattr(edge_files, "_SAMPLE", sample)
    kinds = "+I", "-U", "+U", "-D"
    for steps in ([b"\0", b"\0\0", b"\0\1", b"\1", b"\xff\1"], [bytes([n // 9, n]) for n in range(90)]):
        places = [(seq, step) for seq in range(1, 8) for step in steps]
        events: list[Event] = [
            (seq, step, kinds[min(n, 6) % 4], (step.hex(), seq)) for n, (seq, step) in enumerate(places)
        ]
        recording = begun(store)
        shuffled = sorted(events, key=lambda event: (event[3][0][::-1], -event[0]))
        recording.commit(Epoch(0, {"totals": shuffled}, files=2).write(tmp_path / str(len(steps)), PLAN.edges))
        page = store.changelog.page(recording.run_id, "totals", limit=1000)
        stored = [(each.seq, each.step, each.kind.symbol, each.values) for each in page.records]
        assert stored == events
        counts = store.runs.edge(recording.run_id, "totals").counts
        assert {kind.symbol: records for kind, records in counts.items()} == Counter(event[2] for event in events)


@pytest.mark.parametrize("seqs", [([4, 5], [1, 3]), ([2, 5], [1, 3, 4])], ids=["one after the other", "interleaved"])
def test_files_that_rise_are_one_changelog(store: Store, tmp_path: Path, seqs: tuple[list[int], ...]) -> None:
    recording = begun(store)
    files: list[EdgeFile] = []
    for number, of_file in enumerate(seqs):
        events: list[Event] = [(seq, b"\0", "+I", (str(seq), 1)) for seq in of_file]
        (written,) = write_edge(tmp_path / str(number), TOTALS.schema, events)
        files.append(replace(written, is_rising=True, low=of_file[0], high=of_file[-1]))
    recording.commit(replace(totals(0, [], tmp_path), edges={("totals", "out"): tuple(files)}))
    expected = sorted(seq for of_file in seqs for seq in of_file)
    assert seen(store, recording.run_id) == [(seq, b"\0") for seq in expected]
    assert store.runs.edge(recording.run_id, "totals").counts[RowKind.INSERT] == len(expected)
