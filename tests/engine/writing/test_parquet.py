"""Parquet files that a live run writes: each epoch once, whoever ends the process and whenever."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.target import SinkMode
from engine.errors import PipelineError, TargetError
from engine.writing import parquet, partitions
from engine.writing.allowed import TARGETS
from engine.writing.folders import Folder
from engine.writing.parquet import ParquetWriter
from engine.writing.targets import ParquetFolder
from tests.engine.writing.epochs import epoch, writing
from tests.live.written import table_by_recipe

CHANGELOG, UPSERT, APPEND = SinkMode.CHANGELOG, SinkMode.UPSERT, SinkMode.APPEND


def writer(folder: Path, mode: SinkMode, *partition_by: str, run: str = "run", node: str = "out") -> ParquetWriter:
    made = ParquetWriter(writing(folder, mode, run, node), str(folder / "out"), partition_by)
    made.last()
    return made


def manifests(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / "out/_epochs").rglob("*.json"))]


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder / "out")) for path in (folder / "out").rglob("*.parquet")}


def test_a_changelog_has_a_file_and_a_manifest_for_each_epoch(tmp_path: Path) -> None:
    made = writer(tmp_path, CHANGELOG)
    made.write(0, epoch(1, "+I a 1", "-U a 1", "+U a 2"))
    made.write(3, epoch(4, "-D a 2"))
    first, second = manifests(tmp_path)
    assert (first["epoch"], first["after"], first["records"], first["first_seq"], first["last_seq"]) == (
        0,
        None,
        3,
        1,
        3,
    )
    assert (second["epoch"], second["after"], second["columns"]) == (3, 0, {"k": "STRING", "v": "BIGINT"})
    assert [file["path"] for file in second["files"]] == ["epoch-000000003.run.out.parquet"]
    read = pq.read_table(tmp_path / "out" / first["files"][0]["path"])
    assert read.drop_columns(["step"]).to_pylist() == [
        {"seq": 1, "kind": "+I", "k": "a", "v": 1},
        {"seq": 2, "kind": "-U", "k": "a", "v": 1},
        {"seq": 3, "kind": "+U", "k": "a", "v": 2},
    ]


def test_appended_rows_have_the_columns_of_the_sink_alone(tmp_path: Path) -> None:
    writer(tmp_path, APPEND).write(0, epoch(1, "+I a 1", "+I b NULL"))
    assert pq.read_table(tmp_path / "out", partitioning=None).to_pydict() == {"k": ["a", "b"], "v": [1, None]}


def test_partitions_are_folders_as_in_hive(tmp_path: Path) -> None:
    writer(tmp_path, APPEND, "k").write(0, epoch(1, "+I a/b 1", "+I NULL 2", "+I a/b 3"))
    name = "epoch-000000000.run.out.parquet"
    assert files(tmp_path) == {f"k=a%2Fb/{name}", f"k=__HIVE_DEFAULT_PARTITION__/{name}"}
    found = duckdb.sql(f"SELECT k, v FROM read_parquet('{tmp_path}/out/*/*', hive_partitioning = true) ORDER BY v")
    assert found.fetchall() == [("a/b", 1), (None, 2), ("a/b", 3)]


def test_a_run_that_goes_on_knows_what_is_there(tmp_path: Path) -> None:
    assert writer(tmp_path, CHANGELOG).last() is None
    writer(tmp_path, CHANGELOG).write(7, epoch(1, "+I a 1"))
    again = writer(tmp_path, CHANGELOG)
    assert again.last() == 7
    again.write(8, epoch(2, "+I b 1"))
    assert [each["after"] for each in manifests(tmp_path)] == [None, 7]


@pytest.mark.parametrize("mode", SinkMode)
def test_an_epoch_that_was_cut_off_anywhere_is_replaced_by_the_next_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: SinkMode
) -> None:
    records = epoch(1, "+I a 1", "+I b 2")
    put: Callable[[Folder, str, Any], None] = Folder.put
    for cut in range(5):
        place = tmp_path / str(cut)
        writer(place, mode, "k").write(0, epoch(0, "+I a 0"))
        left = cut

        def fail(folder: Folder, name: str, content: Any) -> None:
            nonlocal left
            if not left:
                raise OSError(28, "No space left on device")
            left -= 1
            put(folder, name, content)

        with monkeypatch.context() as patch:
            patch.setattr(Folder, "put", fail)
            with pytest.raises(OSError, match="No space") if cut < 3 else nullcontext():
                writer(place, mode, "k").write(1, records)
        again = writer(place, mode, "k")
        assert again.last() == (0 if cut < 3 else 1)
        if cut < 3:
            again.write(1, records)
        whole = writer(tmp_path / "whole" / str(cut), mode, "k")
        whole.write(0, epoch(0, "+I a 0"))
        whole.write(1, records)
        assert files(place) == files(tmp_path / "whole" / str(cut))
        assert manifests(place) == manifests(tmp_path / "whole" / str(cut))


def test_a_table_by_key_is_read_with_the_query_beside_it(tmp_path: Path) -> None:
    made = writer(tmp_path, UPSERT)
    made.write(0, epoch(1, "+I a 1", "+I b 1", "+U a 2", "+I NULL 5"))
    made.write(1, epoch(5, "-D b 1", "+I c 7"))
    assert sorted(table_by_recipe(tmp_path / "out"), key=str) == [("a", 2), ("c", 7), (None, 5)]


def test_changes_are_merged_and_replaced_files_go_with_the_next_merge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_MANY_FILES", 3)
    made = writer(tmp_path, UPSERT, "k")
    for at in range(8):
        made.write(at, epoch(at + 1, f"+U a {at}" if at % 3 else f"-D a {at}"))
    made = writer(tmp_path, UPSERT, "k")
    made.write(8, epoch(9, "+I 007 1"))
    newest = manifests(tmp_path)[-1]
    assert len(newest["files"]) <= 3
    assert set(table_by_recipe(tmp_path / "out")) == {("a", 7), ("007", 1)}
    assert {file["path"] for file in newest["files"]} | set(newest["replaced"]) == files(tmp_path)
    assert manifests(tmp_path)[0]["epoch"] > 0


_KINDS = st.sampled_from(["+I", "+U", "-D", "-U"])
_RECORDS = st.lists(
    st.tuples(_KINDS, st.sampled_from("abc"), st.integers(0, 9)).map(lambda each: " ".join(map(str, each)))
)


@given(epochs=st.lists(_RECORDS, max_size=8), many=st.integers(1, 4))
def test_a_table_by_key_is_what_its_changes_make(
    tmp_path_factory: pytest.TempPathFactory, epochs: list[list[str]], many: int
) -> None:
    place, seq, wanted = tmp_path_factory.mktemp("table"), 1, {}
    for number, records in enumerate([*epochs, ["+I z 1"]]):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(parquet, "_MANY_FILES", many)
            # Each epoch by another process.
            writer(place, UPSERT).write(number, epoch(seq, *records))
        seq += len(records)
        for record in records:
            kind, key, value = record.split()
            wanted[key] = int(value) if kind in ("+I", "+U") else None
    assert dict(table_by_recipe(place / "out")) == {key: value for key, value in wanted.items() if value is not None}


def test_a_folder_with_another_run_is_refused_unless_rows_are_only_added(tmp_path: Path) -> None:
    writer(tmp_path, CHANGELOG, run="one").write(0, epoch(1, "+I a 1"))
    with pytest.raises(TargetError, match=r"out has the records of another run already\. Choose an empty folder"):
        writer(tmp_path, CHANGELOG, run="two")
    with pytest.raises(TargetError, match="has the records of the sink out of this run already"):
        writer(tmp_path, UPSERT, run="one", node="other")
    for run in ("one", "two"):
        writer(tmp_path / "added", APPEND, run=run).write(0, epoch(1, "+I a 1"))
    assert len(files(tmp_path / "added")) == 2


def test_what_hinders_writing_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    made = ParquetWriter(writing(tmp_path, CHANGELOG), str(tmp_path / "out"), ())
    with pytest.raises(TargetError, match=r"out: cannot write into .*out: .*Choose another folder\."):
        made.write(0, epoch(1, "+I a 1"))


def test_an_epoch_with_too_many_partitions_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partitions, "_MOST", 2)
    with pytest.raises(TargetError, match="rows for 3 partitions, and 2 are the most"):
        writer(tmp_path, APPEND, "v").write(0, epoch(1, "+I a 1", "+I a 2", "+I a 3"))


@pytest.mark.parametrize(
    ("target", "mode", "said"),
    [
        (ParquetFolder(" ", ()), CHANGELOG, "folder: name a folder"),
        (ParquetFolder("out", ("q",)), CHANGELOG, "unknown column 'q'"),
        (ParquetFolder("out", ("v",)), UPSERT, "v is no key column"),
        (ParquetFolder("out", ("k", "v")), APPEND, "no column is left"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(target: ParquetFolder, mode: SinkMode, said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        target.check(writing(Path(), mode))


def test_a_shared_studio_writes_to_named_places_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_FOLDERS", str(tmp_path))
    sink = writing(tmp_path, CHANGELOG)
    with pytest.raises(PipelineError, match=f"none of the places that live runs .* name it in {TARGETS}"):
        ParquetFolder("out", ()).writer(sink)
    monkeypatch.setenv(TARGETS, f"s3://results, {tmp_path}/out")
    ParquetFolder("out", ()).writer(sink)
    with pytest.raises(PipelineError, match="none of the places"):
        ParquetFolder("out/../other", ()).writer(sink)


def test_the_files_of_a_folder_and_of_one_in_it_have_their_whole_names(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path), "out")
    folder.put("a.json", b"")
    folder.put("deep/b.json", b"")
    assert folder.names("") == ["a.json", "deep/b.json"]
    assert folder.names("deep") == ["b.json"]
    assert folder.names("none") == []


@pytest.mark.parametrize("place", ["file", "file/deeper/out"])
def test_a_folder_that_cannot_be_made_is_told_without_making_one(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetError, match="folder: cannot write into .*: a part of this path is a file"):
        ParquetFolder(place, ()).require(writing(tmp_path, CHANGELOG))
    ParquetFolder("some/deep/folder", ()).require(writing(tmp_path, CHANGELOG))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
