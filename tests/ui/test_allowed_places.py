"""What a shared studio reads beside uploads, and which servers it connects to."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from engine.errors import SourceError, SourceMissing
from engine.local.sources import read
from engine.model.pipeline import Node, Pipeline
from engine.planner import plan
from engine.reading.files.named_folders import ENVIRONMENT as FOLDERS
from engine.reading.files.named_folders import may_be_read
from engine.reading.files.source import FileSource
from engine.reading.servers.named_servers import ENVIRONMENT as ADDRESSES
from engine.recordings import on_recordings
from engine.sources.csv import Csv
from engine.sources.duckdb import DuckDb
from engine.sources.excel import Excel
from engine.sources.jsonl import JsonLines
from engine.sources.parquet import Parquet
from engine.sources.postgres import Postgres
from engine.sources.sqlite import Sqlite
from engine.spark.engines import Engine
from storage import Store
from tests.engine.planning import KnownTypes
from tests.storage.local_runs import no_spark, run_locally
from ui.access import serving as serving_module
from ui.access.serving import Serving, folders_of
from ui.engines.form import Typed
from ui.engines.form import read as read_form

NAMED = Pipeline(
    name="numbers",
    nodes=(Node(id="numbers", operator="csv", parameters={"path": "files/numbers.csv", "types": {"n": "BIGINT"}}),),
)


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """The folder of a store with an uploaded file of three rows."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "numbers.csv").write_text("n\n1\n2\n3\n")
    return tmp_path


@pytest.mark.parametrize("is_recorded", [False, True], ids=["an upload", "a recording"])
def test_what_a_shared_studio_has_itself_is_read_whole_and_in_part(
    is_recorded: bool, numbers: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_locally(store, numbers, NAMED)
    monkeypatch.setenv(FOLDERS, folders_of({}, store.path))
    pipeline = on_recordings(NAMED, store.recordings.write(first), numbers) if is_recorded else NAMED
    assert store.runs.get(run_locally(store, numbers, pipeline)).last_seq == 3
    planned = plan(pipeline, KnownTypes(), numbers)
    # A preview reads a copy of the first rows, in a temporary folder.
    head = read(planned, no_spark, numbers, rows=1)["numbers"]
    assert (len(head), head.is_whole) == (1, False)
    assert not may_be_read(store.path)


@pytest.mark.parametrize("make", [Csv, JsonLines, Parquet, Excel, Sqlite, DuckDb])
def test_a_recording_is_read_as_a_recording_only(
    make: type[FileSource], numbers: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = store.recordings.write(run_locally(store, numbers, NAMED))["numbers"]
    for path in (place, place.parent, place.parent / "*.parquet"):
        monkeypatch.setenv(FOLDERS, folders_of({}, store.path))
        with pytest.raises(SourceError, match="is in none of the folders that this studio reads"):
            make(path=str(path)).files("n", numbers)
        # A folder that whoever runs the studio names is read by every source.
        monkeypatch.setenv(FOLDERS, folders_of({FOLDERS: str(place.parent)}, store.path))
        with suppress(SourceMissing):
            assert make(path=str(path)).files("n", numbers)


def test_a_shared_studio_connects_to_no_server_unless_one_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving_module, "_started", [])
    monkeypatch.setenv(FOLDERS, "")
    source = Postgres(host="127.0.0.1", database="d", table_name="t", user="u")
    for how, named, refused in ((Serving(), None, False), (Serving(is_shared=True), None, True), (Serving(), "", True)):
        # Set first, so that what the app sets does not outlive the test.
        monkeypatch.setenv(ADDRESSES, "")
        monkeypatch.delenv(ADDRESSES)
        if named is not None:
            monkeypatch.setenv(ADDRESSES, named)
        serving_module.start_serving(how, tmp_path / "s.duckdb")
        if not refused:
            source.check_server("n")
            continue
        with pytest.raises(SourceError, match=f"127.0.0.1:5432 is none of the servers .* in {ADDRESSES}"):
            source.check_server("n")
    monkeypatch.setenv(ADDRESSES, "127.0.0.1")
    serving_module.start_serving(Serving(is_shared=True), tmp_path / "s.duckdb")
    assert os.environ[ADDRESSES] == "127.0.0.1"
    monkeypatch.undo()
    serving_module.serving.cache_clear()


@pytest.mark.parametrize(
    ("address", "workspace", "field"),
    [
        ("sc://spark.example.com:15002", "", ""),
        ("sc://spark.example.com", "", ""),
        ("sc://spark.example.com", "s3a://events/work/of-ada", ""),
        ("local[2]", "", ""),
        ("spark://a.example.com:7077,b.example.com:7077", "", ""),
        ("sc://127.0.0.1:15002", "", "address"),
        ("sc://spark.example.com.evil.example", "", "address"),
        ("spark://a.example.com:7077,10.0.0.1:7077", "", "address"),
        ("spark://a.example.com:22", "", "address"),
        ("sc://spark.example.com", "/etc", "workspace"),
        ("sc://spark.example.com", "s3a://events/work/%2e%2e/in", "workspace"),
    ],
)
def test_an_engine_that_a_member_adds_is_where_whoever_runs_the_studio_allows_it(
    address: str, workspace: str, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADDRESSES, "spark.example.com, a.example.com:7077, b.example.com:7077")
    monkeypatch.setenv(FOLDERS, "s3a://events/work")
    engine, complaints = read_form(Typed("mine", address, workspace), [])
    assert list(complaints) == ([field] if field else [])
    assert (engine is None) is bool(field)
    monkeypatch.delenv(ADDRESSES)
    monkeypatch.delenv(FOLDERS)
    assert isinstance(read_form(Typed("mine", address, workspace), [])[0], Engine)
