"""Epochs in, tables out: types, names, order, idempotence."""

from __future__ import annotations

import string
import threading
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.contract.recorder import EdgeFile, Recorder
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from storage import Store
from storage.database.connection import Database
from storage.database.memory import Room
from storage.errors import EpochRefused, StoreWriteFailed
from storage.model import Run
from storage.recording.open_epoch import OpenEpoch
from tests.storage.written_runs import Epoch, columns, edge, plan, recorded

TIMES = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))  # noqa: DTZ001
WHOLE = st.integers(-(1 << 63), (1 << 63) - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(),
    "boolean": st.booleans(),
    "tinyint": st.integers(-128, 127),
    "smallint": st.integers(-(1 << 15), (1 << 15) - 1),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "bigint": WHOLE,
    "float": st.floats(width=32),
    "double": st.floats(),
    "date": st.dates(date(1900, 1, 1), date(2200, 1, 1)),
    "binary": st.binary(),
    "timestamp": TIMES.map(lambda time: time.replace(tzinfo=UTC)),
    "timestamp_ntz": TIMES,
    "decimal(10,2)": st.integers(-(10**10) + 1, 10**10 - 1).map(lambda n: Decimal(n).scaleb(-2)),
    "decimal(38,0)": st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
    "array<string>": st.lists(st.none() | st.text()),
    "array<timestamp>": st.lists(TIMES.map(lambda time: time.replace(tzinfo=UTC))),
    "map<string,bigint>": st.dictionaries(st.text(), st.none() | WHOLE),
    'struct<`a`:int,`b "c`:string>': st.tuples(st.none() | st.integers(0, 9), st.none() | st.text()).map(
        lambda fields: {"a": fields[0], 'b "c': fields[1]}
    ),
    "map<string,decimal(4,1)>": st.dictionaries(st.text(), st.just(Decimal("1.5"))),
}
NAMES = st.one_of(
    st.sampled_from(["seq", "STEP", "Kind", "rowid", "RowID_", "seq_", "seq__", "select", 'a"b', "a b", "ß", ";--"]),
    st.text(string.ascii_letters + "'\"`. €", min_size=1, max_size=8),
)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique_by=str.lower))
    return Schema(tuple(Column(name, spark_type(draw(st.sampled_from(sorted(VALUES))))) for name in names))


@st.composite
def written(draw: st.DrawFn) -> tuple[Schema, list[tuple[Any, ...]]]:
    schema = draw(schemas())
    row = st.tuples(*(st.none() | VALUES[str(column.type)] for column in schema))
    return schema, draw(st.lists(row, max_size=6))


def as_stored(value: Any) -> Any:
    """Instants come back as plain UTC timestamps."""
    match value:
        case datetime():
            return value.replace(tzinfo=None, fold=0)
        case list():
            return [as_stored(entry) for entry in value]
        case _:
            return value


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases=st.lists(written(), min_size=4, max_size=4))
def test_values_of_every_type_under_any_name_come_back(
    shared_store: Store, cases: list[tuple[Schema, list[tuple[Any, ...]]]]
) -> None:
    """Four edges in a run: a run takes as long to write as they do."""
    edges = [edge(f"node {place}", schema) for place, (schema, _) in enumerate(cases)]
    events = {
        info.node: [(n, b"", "+I", row) for n, row in enumerate(rows, 1)]
        for info, (_, rows) in zip(edges, cases, strict=True)
    }
    with TemporaryDirectory() as folder:
        run_id = recorded(shared_store, Path(folder), plan(*edges), Epoch(records=events))
    for info, (schema, rows) in zip(edges, cases, strict=True):
        page = shared_store.changelog.page(run_id, info.node)
        assert page.columns == schema.names
        stored = [record.values for record in page.records]
        assert repr(stored) == repr([tuple(as_stored(value) for value in row) for row in rows])


def test_the_file_is_pleasant_in_any_duckdb_client(tmp_path: Path) -> None:
    schema = columns(word="string", Seq="bigint*")
    totals = edge("Word totals", schema, "[I,UB,UA]", ["word"])
    spare = edge("Word totals", schema, port="late")
    events = [
        (1, b"\0", "+I", ("Hello", 1)),
        (2, b"\0", "-U", ("Hello", 1)),
        (2, b"\1", "+U", ("Hello", 2)),
    ]
    with Store.open(tmp_path / "s.duckdb") as store:
        recorded(store, tmp_path, plan(totals, spare), Epoch(records={"Word totals": events}))
    with duckdb.connect(str(tmp_path / "s.duckdb"), read_only=True) as client:
        table = client.execute('SELECT * FROM run_1."Word totals"')
        assert [column[0] for column in table.description] == ["seq", "step", "kind", "word", "Seq_"]
        assert table.fetchall()[1] == (2, b"\0", "-U", "Hello", 1)
        assert client.execute('FROM run_1."Word totals as of"(1)').fetchall() == [("Hello", 1)]
        comments = dict(
            client.execute("SELECT table_name, comment FROM duckdb_tables() WHERE schema_name = 'run_1'").fetchall()
        )
        assert comments["Word totals"].startswith("Changelog of Word totals (operator), mode +I -U +U")
        assert all(comments.values())
        assert "Word totals__late" in comments


def test_committing_an_epoch_twice_changes_nothing(store: Store, tmp_path: Path) -> None:
    info = edge("node", columns(n="bigint"))
    planned = plan(info)
    run = store.runs.create("twice", planned.pipeline_json)
    output = Epoch(records={"node": [(1, b"", "+I", (1,))]}).write(tmp_path, planned.edges)
    for _ in range(2):
        recording = store.record(run.run_id)
        recording.begin(planned)
        recording.commit(output)
        recording.commit(output)
    assert store.changelog.page(run.run_id, "node").total == 1
    assert store.runs.get(run.run_id).epochs_done == 1


@pytest.mark.parametrize("files", [1, 3])
def test_rows_in_any_order_are_stored_in_position_order(store: Store, tmp_path: Path, files: int) -> None:
    info = edge("node", columns(n="bigint"))
    events = [(seq, bytes([step]), "+I", (seq * 2 + step,)) for seq in range(1, 50) for step in range(2)]
    shuffled = sorted(events, key=lambda event: event[0] * 37 % 50)
    run_id = recorded(store, tmp_path, plan(info), Epoch(records={"node": shuffled}, files=files))
    page = store.changelog.page(run_id, "node", limit=1000)
    assert [(record.seq, record.step) for record in page.records] == [event[:2] for event in events]
    assert [record.row for record in page.records] == list(range(98))


A_AND_B = (edge("a", columns(n="bigint")), edge("b", columns(n="bigint")))


def begun(store: Store, name: str) -> tuple[Run, Recorder]:
    """A run of which nothing is committed yet."""
    planned = plan(*A_AND_B)
    run = store.runs.create(name, planned.pipeline_json)
    recording = store.record(run.run_id)
    recording.begin(planned)
    return run, recording


def test_an_epoch_that_comes_before_stored_ones_is_refused_whole(store: Store, tmp_path: Path) -> None:
    run, recording = begun(store, "late")
    recording.commit(Epoch(0, {"b": [(5, b"", "+I", (1,))]}).write(tmp_path, A_AND_B))
    early = Epoch(1, {"a": [(3, b"", "+I", (1,))], "b": [(4, b"", "+I", (1,))]}).write(tmp_path, A_AND_B)
    with pytest.raises(EpochRefused, match="b starts at event 4, but event 5 is already stored"):
        recording.commit(early)
    assert store.changelog.page(run.run_id, "a").records == ()
    recording.commit(Epoch(1, {"a": [(6, b"", "+I", (2,))]}).write(tmp_path / "again", A_AND_B))
    assert [record.row for record in store.changelog.page(run.run_id, "a").records] == [0]


def test_a_file_that_is_not_parquet_leaves_nothing_of_its_epoch(store: Store, tmp_path: Path) -> None:
    run, recording = begun(store, "broken")
    output = Epoch(0, {"a": [(1, b"", "+I", (1,))]}).write(tmp_path, A_AND_B)
    broken = tmp_path / "part-0.parquet"
    broken.write_text("no")
    output = replace(output, edges={**output.edges, ("b", "out"): (EdgeFile(str(broken)),)})
    with pytest.raises(StoreWriteFailed, match="everything stored before is intact"):
        recording.commit(output)
    assert store.changelog.page(run.run_id, "a").total == 0


def test_runs_and_readers_work_side_by_side(store: Store, tmp_path: Path) -> None:
    info = edge("node", columns(n="bigint"), "[I,UB,UA]", ["n"])
    failures: list[BaseException] = []

    def write_and_read(name: str) -> None:
        try:
            epochs = [Epoch(n, {"node": [(n + 1, b"", "+I", (n,))]}) for n in range(10)]
            run_id = recorded(store, tmp_path / name, plan(info), *epochs)
            store.drafts.save("shared", name)
            store.runs.rename(run_id, name)
            assert store.changelog.table_as_of(run_id, "node", 10).total == 10
        except BaseException as error:  # noqa: BLE001 - handed to the test's own thread
            failures.append(error)

    threads = [threading.Thread(target=write_and_read, args=(f"run {n}",)) for n in range(4)]
    started = datetime.now(UTC)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {run.name for run in store.runs.list()} == {f"run {n}" for n in range(4)}
    assert datetime.now(UTC) - started < timedelta(minutes=1)


def test_an_epoch_that_has_failed_interrupts_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted: list[int | None] = []

    def fail(_: object) -> None:
        raise ValueError

    monkeypatch.setattr(Database, "interrupt", lambda _, thread: interrupted.append(thread))
    opened = OpenEpoch(Database(tmp_path / "studio.duckdb"), 0, Room())
    opened.do(fail)
    opened.wait()
    opened.abandon()
    assert interrupted == []
