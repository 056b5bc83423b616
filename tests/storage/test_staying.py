"""Changelogs that stay in a workspace: the same answers, and files that count with their epoch or are removed."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.examples import examples
from engine.reading.files.storage import file_system
from storage import Store
from storage.errors import QueryFailed, QueryRefused, StayingRecordsAway
from storage.model import Edge, EventRange, RunStatus
from storage.wanted import Filter, SortOrder
from tests.bucket_servers import SERVERS, BucketServer
from tests.faulty_network import Answer, faulty
from tests.storage.local_runs import computed, keep
from tests.storage.staying_child import EVENTS, records_of
from tests.storage.staying_runs import StayingRun, files_in
from tests.storage.written_runs import COUNTS, Epoch, columns, edge, plan

COUNTED = plan(edge("counts", columns(word="string", n="bigint"), "[I,UB,UA]", ["word"]))


@pytest.fixture(scope="module", params=SERVERS)
def bucket(request: pytest.FixtureRequest) -> Iterator[BucketServer]:
    with SERVERS[request.param]() as server:
        yield server


@pytest.fixture
def uri(bucket: BucketServer, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A folder of a bucket."""
    for name, value in bucket.environ.items():
        monkeypatch.setenv(name, value)
    return f"{bucket.uri}/{request.node.name.partition('[')[0]}"


def counted(store: Store, folder: str, files: Path) -> int:
    """A finished run of the words Hello, World, Hello in two epochs, whose changelog stays in the folder."""
    run = store.runs.create("a run", COUNTED.pipeline_json)
    recording = StayingRun.of(store, run.run_id, folder)
    recording.begin(COUNTED)
    for number, records in enumerate((COUNTS[:2], COUNTS[2:])):
        recording.commit(Epoch(number, {"counts": records}).write(files, COUNTED.edges))
    recording.finish()
    return run.run_id


Ask = Callable[[Store, int, Edge], Any]
QUESTIONS: dict[str, Ask] = {
    "first page": lambda store, run, edge: store.changelog.page(run, edge.node, edge.port, limit=5),
    "page by offset": lambda store, run, edge: store.changelog.page(run, edge.node, edge.port, offset=3, limit=4),
    "page by a column": lambda store, run, edge: store.changelog.page(
        run, edge.node, edge.port, order=SortOrder(edge.names[0], True), limit=9
    ),
    "changes": lambda store, run, edge: store.changelog.changes(run, edge.node, edge.port, limit=50),
    "with a text": lambda store, run, edge: store.changelog.page(
        run, edge.node, edge.port, filter=Filter(text="1"), limit=50
    ),
    "of events": lambda store, run, edge: store.changelog.page(
        run, edge.node, edge.port, filter=Filter(from_seq=2, to_seq=4)
    ),
    "counts": lambda store, run, edge: store.changelog.counts(run, edge.node, 3, edge.port),
    "a search": lambda store, run, edge: (
        store.changelog.search(run, edge.node, 3, edge.port, filter=Filter(text="1")),
        store.changelog.found(run, edge.node, 3, edge.port, filter=Filter(text="1")),
        store.changelog.page(run, edge.node, edge.port, filter=Filter(text="1"), from_event=3, offset=-2, limit=4),
    ),
    "table as of events": lambda store, run, edge: [
        store.changelog.table_as_of(run, edge.node, seq, edge.port) for seq in (1, 3, 99)
    ],
    "cascade": lambda store, run, edge: [
        [(entry.edge.name, entry.record) for entry in store.changelog.cascade(run, seq)] for seq in (1, 3)
    ],
    "next and previous event": lambda store, run, edge: (
        store.changelog.next_seq(run, edge.node, 1, edge.port),
        store.changelog.previous_seq(run, edge.node, 5, edge.port),
    ),
    "retractions by key": lambda store, run, edge: store.flows.keys(run, edge.node, edge.port),
    "without effect": lambda store, run, edge: store.flows.cancelled(run, edge.node, edge.port).examples,
    "by second": lambda store, run, edge: store.flows.seconds(run, edge.node, edge.port),
    "counters": lambda store, run, edge: store.runs.counters(run),
    "arrivals": lambda store, run, edge: store.arrivals.page(run, EventRange()),
    "sources": lambda store, run, edge: store.arrivals.sources(run),
    "late records": lambda store, run, edge: store.late.page(run, EventRange()),
    "future records": lambda store, run, edge: store.future_records.find(run),
    "SQL": lambda store, run, edge: (
        store.queries.run(
            f'SELECT * FROM "{edge.table}" ORDER BY seq, step, kind', schema=f"run_{run}", time_limit_s=120
        ).rows
    ),
    "SQL as of an event": lambda store, run, edge: sorted(
        map(
            str,
            store.queries.run(f'FROM "{edge.table} as of"(3)', schema=f"run_{run}", time_limit_s=120).rows,
        )
    ),
}

# Of these, the local executor computes all expressions.
EXAMPLES = ("01-word-frequency", "02-window-late-record")


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_question_about_a_run_has_the_same_answer(name: str, store: Store, tmp_path: Path) -> None:
    run_plan, epoch = computed(examples()[name], tmp_path)
    loaded = keep(store, examples()[name], run_plan, epoch)
    run = store.runs.create(name, run_plan.pipeline_json)
    recording = StayingRun.of(store, run.run_id, str(tmp_path / "kept"))
    recording.begin(run_plan)
    recording.commit(epoch.write(tmp_path / "run", run_plan.edges))
    recording.finish()
    edges = store.runs.edges(run.run_id)
    assert all(each.stays for each in edges)
    for before, stays in zip(store.runs.edges(loaded), edges, strict=True):
        for question, ask in QUESTIONS.items():
            assert ask(store, run.run_id, stays) == ask(store, loaded, before), (stays.name, question)


def test_what_stays_counts_as_used_by_whoever_made_the_run(store: Store, tmp_path: Path) -> None:
    counted(store, str(tmp_path / "kept"), tmp_path)
    files = [file for file in (tmp_path / "kept").rglob("*.parquet") if file.is_file()]
    [usage] = store.usages()
    assert usage.staying == sum(file.stat().st_size for file in files) > 0


def test_records_in_a_bucket_are_read_by_pages_and_by_sql_and_deleted_with_their_run(
    store: Store, tmp_path: Path, uri: str
) -> None:
    run = counted(store, uri, tmp_path)
    assert [record.values for record in store.changelog.page(run, "counts").records] == [each[3] for each in COUNTS]
    assert store.changelog.table_as_of(run, "counts", 3).total == 2
    query = store.queries.run("SELECT n FROM counts ORDER BY seq, kind DESC", schema=f"run_{run}", time_limit_s=120)
    assert [n for (n,) in query.rows] == [1, 1, 2, 1]
    system, inside = file_system(uri)
    store.runs.delete(run)
    assert store.staying.sweep(run) == ()
    assert system.get_file_info(inside).type.name == "NotFound"
    assert store.staying.folders(run) == ()


def test_records_in_a_bucket_are_there_after_the_studio_started_again(tmp_path: Path, uri: str) -> None:
    with Store.open(tmp_path / "studio.duckdb") as store:
        run = counted(store, uri, tmp_path)
    with Store.open(tmp_path / "studio.duckdb") as store:
        assert store.changelog.count(run, "counts") == 4
        assert len(store.changelog.page(run, "counts", offset=2).records) == 2


def test_a_query_reads_no_other_object_than_those_of_runs(store: Store, tmp_path: Path, uri: str) -> None:
    run = counted(store, uri, tmp_path)
    for relation in (f"'{uri}/other.parquet'", f"read_parquet('{uri}/other.parquet')"):
        with pytest.raises((QueryFailed, QueryRefused)):
            store.queries.run(f"SELECT * FROM {relation}", schema=f"run_{run}")


def test_records_that_are_gone_are_told_and_all_else_is_there(store: Store, tmp_path: Path) -> None:
    run = counted(store, str(tmp_path / "kept"), tmp_path / "run")
    shutil.move(tmp_path / "kept", tmp_path / "elsewhere")
    with pytest.raises(StayingRecordsAway, match="kept.*on this machine"):
        store.changelog.page(run, "counts")
    with pytest.raises(QueryFailed, match="kept.*on this machine"):
        store.queries.run("FROM counts", schema=f"run_{run}", time_limit_s=120)
    assert store.runs.get(run).records == 4
    shutil.move(tmp_path / "elsewhere", tmp_path / "kept")
    assert len(store.changelog.page(run, "counts").records) == 4


def test_a_bucket_that_is_away_is_told(
    store: Store, tmp_path: Path, uri: str, bucket: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = counted(store, uri, tmp_path)
    store.close()
    with faulty(bucket.port, lambda method, path: Answer(503)) as port, Store.open(store.path) as again:
        monkeypatch.setenv(bucket.endpoint, f"http://127.0.0.1:{port}")
        with pytest.raises(StayingRecordsAway, match=rf"{bucket.uri}/.* (did not answer|cannot be reached)"):
            again.changelog.page(run, "counts")


def test_a_bucket_that_forbids_deletion_is_told_and_asked_again(
    store: Store, tmp_path: Path, uri: str, bucket: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = counted(store, uri, tmp_path)

    def keeping(method: str, path: str) -> Answer | None:
        of_google = b'{"error":{"code":403,"message":"no"}}'
        refused = b"<Error><Code>AccessDenied</Code><Message>m</Message></Error>"
        is_deletion = method == "DELETE" or "batch" in path or (method == "POST" and "delete" in path)
        return Answer(403, of_google if uri.startswith("gs") else refused) if is_deletion else None

    with faulty(bucket.port, keeping) as port, monkeypatch.context() as patched:
        patched.setenv(bucket.endpoint, f"http://127.0.0.1:{port}")
        store.runs.delete(run)
        [sentence] = store.staying.sweep(run)
    assert re.match(
        rf"Files in {uri} could not be deleted. {uri}\S*: [\w ]+ forbids it; allow it to the owner", sentence
    )
    assert store.staying.sweep() == ()
    assert store.staying.folders(run) == ()


def test_what_killed_processes_have_not_committed_is_removed_and_nothing_else(tmp_path: Path) -> None:
    """STAYING_KILLS=30 for more of them."""
    chance = random.Random(5)
    for _ in range(int(os.environ.get("STAYING_KILLS", "3"))):
        arguments = [str(tmp_path / "studio.duckdb"), str(tmp_path / "kept")]
        child = subprocess.Popen([sys.executable, "-m", "tests.storage.staying_child", *arguments], stdout=-1)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(chance.uniform(0, 0.5))
        child.kill()
        child.wait()
        child.stdout.close()
        with Store.open(tmp_path / "studio.duckdb") as store:
            [run, *_] = store.runs.titles(limit=1)
            assert store.runs.get(run.run_id).status is RunStatus.INTERRUPTED
            epochs = store.runs.get(run.run_id).epochs_done
            page = store.changelog.page(run.run_id, "counts", limit=10 * epochs * EVENTS)
            found = [(record.seq, record.step, record.kind.symbol, record.values) for record in page.records]
            assert found == [record for epoch in range(epochs) for record in records_of(epoch)]
            assert store.staying.sweep() == ()
            assert len(files_in(tmp_path / "kept" / f"run-{run.run_id}")) == epochs
    with Store.open(tmp_path / "studio.duckdb") as store:
        for title in store.runs.titles(limit=100):
            store.runs.delete(title.run_id)
        assert store.staying.sweep() == ()
    assert files_in(tmp_path / "kept") == []
