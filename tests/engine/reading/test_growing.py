"""Growing files, and folders that get new files: every line is read once, whatever happens to the files."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from engine.contract.scan import Scan
from engine.contract.stream import Limit, Stream, Taken
from engine.errors import SourceError
from engine.live_runs.planning import plan_live
from engine.model.pipeline import Pipeline
from engine.sources.csv import Csv
from engine.sources.jsonl import JsonLines
from tests.engine.planning import KnownTypes

ALL = Limit(1 << 40, 1 << 40)


class Reader:
    """Polls a source for new rows, with a position that is passed on as JSON."""

    def __init__(self, source: Csv | JsonLines, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.position: Any = None
        self.notes: list[str] = []
        self.now_ms = 0
        self.stream: Stream = source.stream("n", folder, "run")

    def poll(self, limit: Limit = ALL, **how: bool) -> Taken:
        self.now_ms += 1000
        taken = self.stream.poll(self.position, limit, self.now_ms, **how)
        self.position = taken.position
        self.notes += taken.notes
        return taken

    def lines(self, limit: Limit = ALL, **how: bool) -> list[list[Any]]:
        return self.read(self.poll(limit, **how).what)

    def read(self, what: Any) -> list[list[Any]]:
        if what is None:
            return []
        scan = self.stream.read(what)
        assert isinstance(scan, Scan)
        batches = [part.records for each in scan.parts for part in scan.read(each)]
        return [list(row.values()) for batch in batches for row in batch.to_pylist()]

    def again(self) -> None:
        """Restart the stream, as another process would."""
        self.stream = self.source.stream("n", self.folder, "run")


def csv(folder: Path, path: str = "in", **parameters: Any) -> Reader:
    given = {"path": path, "types": {"k": "string", "v": "bigint"}, "monitor_interval_ms": 500}
    return Reader(Csv.model_validate(given | parameters), folder)


def put(file: Path, text: str, mode: str = "w") -> None:
    file.parent.mkdir(exist_ok=True)
    with file.open(mode) as stream:
        stream.write(text)


def test_a_line_counts_once_it_has_its_end(tmp_path: Path) -> None:
    file = tmp_path / "in" / "a.csv"
    put(file, "k,v\na,1\nb,")
    reader = csv(tmp_path)
    assert reader.lines() == [["a", 1]]
    assert reader.notes == ["in/a.csv: its last line is not complete yet; it is read once it ends with a line break."]
    put(file, "2\nc", "a")
    assert reader.lines() == [["b", 2]]
    assert reader.lines() == []
    put(file, ",3", "a")
    assert reader.lines(ending=True) == [["c", 3]]


def test_new_files_come_in_the_order_of_their_names_and_files_that_are_taken_away_leave_nothing_behind(
    tmp_path: Path,
) -> None:
    put(tmp_path / "in" / "b.csv", "k,v\nb,1\n")
    reader = csv(tmp_path)
    assert reader.lines() == [["b", 1]]
    put(tmp_path / "in" / "d.csv", "k,v\nd,1\n")
    put(tmp_path / "in" / "a.csv", "k,v\na,1\n")
    put(tmp_path / "in" / "b.csv", "b,2\n", "a")
    assert reader.lines() == [["a", 1], ["b", 2], ["d", 1]]
    for file in (tmp_path / "in").iterdir():
        file.unlink()
    assert reader.lines() == []
    assert "has no file that ends in" in reader.notes[-1]
    put(tmp_path / "in" / "e.csv", "k,v\ne,1\n")
    assert reader.lines() == [["e", 1]]


# With fixed columns, as in every live run, files that are not there are no error of the source.
@pytest.mark.parametrize(
    ("fixed", "path", "trouble"),
    [
        (False, "in", "there is no file in .*"),
        (True, "in", "none of its files is there."),
        (True, "in/*.csv", "none of its files is there."),
        (True, "in/a.csv", "none of its files is there."),
    ],
)
def test_a_source_does_not_end_while_its_files_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fixed: bool, path: str, trouble: str
) -> None:
    file = tmp_path / "in" / "a.csv"
    put(file, "k,v\na,1\n")
    reader = csv(tmp_path, path, fixed_columns=fixed)
    assert reader.lines() == [["a", 1]]
    put(file, "a,2\n", "a")
    (tmp_path / "in").rename(tmp_path / "away")
    assert reader.lines() == []
    with pytest.raises(SourceError, match=f"{trouble} The source cannot end before it is read"):
        reader.poll(ending=True)
    (tmp_path / "away").rename(tmp_path / "in")

    def denied(path: Path, *_: Any) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", denied)
        assert reader.lines() == []
        assert reader.notes[-1] == f"{file} cannot be read: Permission denied."
        with pytest.raises(SourceError, match="Permission denied. The source cannot end before it is read"):
            reader.poll(ending=True)
    assert reader.lines(ending=True) == [["a", 2]]


@pytest.mark.parametrize("restarted", [False, True])
def test_a_source_whose_files_were_deleted_for_good_ends_with_one_without_rows(tmp_path: Path, restarted: bool) -> None:
    file = tmp_path / "in" / "a.csv"
    put(file, "k,v\na,1\n")
    reader = csv(tmp_path, fixed_columns=True)
    assert reader.lines() == [["a", 1]]
    file.unlink()
    with pytest.raises(SourceError, match="If they were deleted for good, put a file of the same name without rows in"):
        reader.poll(ending=True)
    put(file, "k,v\n")
    if restarted:
        reader.again()
    assert reader.lines(ending=True) == []


def test_a_source_does_not_end_while_one_of_several_files_is_away(tmp_path: Path) -> None:
    for name in "abcde":
        put(tmp_path / "in" / f"{name}.csv", f"k,v\n{name},1\n")
    reader = csv(tmp_path, fixed_columns=True)
    assert len(reader.lines()) == 5
    away = tmp_path / "away"
    (tmp_path / "in" / "b.csv").rename(away)
    put(away, "b,2\n", "a")
    with pytest.raises(SourceError, match=r"in/b.csv: not there, although read before. The source cannot end before"):
        reader.poll(ending=True)
    reader.again()
    with pytest.raises(SourceError, match=r"in/b.csv: not there.* put a file of the same name without rows"):
        reader.poll(ending=True)
    for name in "acd":
        (tmp_path / "in" / f"{name}.csv").unlink()
    with pytest.raises(SourceError, match=r"in/a.csv, in/b.csv, in/c.csv and 1 more: not there"):
        reader.poll(ending=True)
    away.rename(tmp_path / "in" / "b.csv")
    for name in "acd":
        put(tmp_path / "in" / f"{name}.csv", "")
    assert reader.lines(ending=True) == [["b", 2]]


def test_a_file_that_was_renamed_and_read_to_its_end_does_not_keep_the_source_from_ending(tmp_path: Path) -> None:
    for name in "ab":
        put(tmp_path / "in" / f"{name}.csv", f"k,v\n{name},1\n")
    reader = csv(tmp_path)
    reader.lines()
    put(tmp_path / "in" / "a.csv", "a,2", "a")
    (tmp_path / "in" / "a.csv").rename(tmp_path / "in" / "a.csv.1")
    assert reader.lines(ending=True) == [["a", 2]]


def test_a_rewritten_file_is_not_lost_when_another_one_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "in" / "a.csv", tmp_path / "in" / "b.csv"
    put(file, "k,v\na,1\n")
    put(other, "k,v\nb,1\n")
    reader = csv(tmp_path)
    assert reader.lines() == [["a", 1], ["b", 1]]
    # As many bytes as before: only the time of modification says that it may be another file.
    put(file, "k,v\na,2\n")
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1_000_000_000))
    put(other, "b,2\n", "a")
    opened = Path.open

    def denied(path: Path, *how: Any) -> Any:
        if path == other:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *how)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", denied)
        assert reader.lines() == []
    assert reader.lines() == [["a", 2], ["b", 2]]


@pytest.mark.parametrize("limit", [Limit(2, 1 << 40), Limit(1 << 40, 7)])
def test_what_an_epoch_has_no_room_for_comes_with_the_next_one_at_once(tmp_path: Path, limit: Limit) -> None:
    put(tmp_path / "in" / "a.csv", "k,v\n" + "".join(f"a,{at}\n" for at in range(5)))
    put(tmp_path / "in" / "b.csv", "k,v\nb,1\n")
    reader = csv(tmp_path)
    first = reader.poll(limit)
    assert first.behind.endswith(" bytes")
    found = reader.read(first.what)
    assert len(found) < 5
    # No time has passed.
    reader.now_ms -= 1000
    while taken := reader.poll(limit).what:
        reader.now_ms -= 1000
        found += reader.read(taken)
    assert found == [["a", 0], ["a", 1], ["a", 2], ["a", 3], ["a", 4], ["b", 1]]


def test_the_files_are_looked_at_as_often_as_is_asked_for(tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.csv", "k,v\na,1\n")
    reader = csv(tmp_path)
    reader.poll()
    put(tmp_path / "in" / "a.csv", "a,2\n", "a")
    reader.now_ms -= 600
    assert reader.lines() == []
    assert reader.lines() == [["a", 2]]


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("restarted", [False, True])
def test_a_file_that_is_written_anew_is_read_from_its_start_and_that_is_said(
    tmp_path: Path, size: int, restarted: bool
) -> None:
    file = tmp_path / "in" / "a.csv"
    put(file, "k,v\na,1\na,2\n")
    reader = csv(tmp_path)
    reader.lines()
    assert reader.lines() == []
    put(file, "k,v\n" + "".join(f"b,{at}\n" for at in range(size)))
    # A write right after the last look can have the same time, in the unit of the file system.
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1_000_000_000))
    if restarted:
        reader.again()
    assert reader.lines() == [["b", at] for at in range(size)]
    assert reader.lines() == []
    assert reader.notes == [
        "in/a.csv: it was truncated or rewritten after 12 bytes of it had been read; it is read from its start."
    ]


@pytest.mark.parametrize("path", ["in", "in/a.csv"])
def test_a_file_that_is_rotated_is_read_to_its_end_first(tmp_path: Path, path: str) -> None:
    file = tmp_path / "in" / "a.csv"
    put(file, "k,v\na,1\n")
    reader = csv(tmp_path, path)
    reader.lines()
    put(file, "a,2\n", "a")
    file.rename(tmp_path / "in" / "a.csv.1")
    put(file, "k,v\nb,1\n")
    reader.again()
    assert reader.lines() == [["a", 2], ["b", 1]]
    assert reader.notes == ["in/a.csv: it was renamed to a.csv.1; the rest was read from there."]


def test_a_file_of_a_folder_that_gets_another_name_there_goes_on(tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.csv", "k,v\na,1\n")
    reader = csv(tmp_path)
    reader.lines()
    (tmp_path / "in" / "a.csv").rename(tmp_path / "in" / "old.csv")
    put(tmp_path / "in" / "old.csv", "a,2\n", "a")
    put(tmp_path / "in" / "a.csv", "k,v\nb,1\n")
    assert reader.lines() == [["b", 1], ["a", 2]]
    assert reader.lines() == []


def test_a_line_break_in_quotes_ends_no_line(tmp_path: Path) -> None:
    file = tmp_path / "in" / "a.csv"
    put(file, 'k,v\n"a\nb",1\n"c\n')
    reader = csv(tmp_path, multi_line=True)
    assert reader.lines() == [["a\nb", 1]]
    put(file, 'd",2\n', "a")
    assert reader.lines() == [["c\nd", 2]]


def test_a_file_with_other_columns_stops_the_run_before_anything_of_it_is_taken(tmp_path: Path) -> None:
    put(tmp_path / "in" / "a.csv", "k,v\na,1\n")
    reader = csv(tmp_path)
    position = reader.poll().position
    put(tmp_path / "in" / "b.csv", "k,w\nb,1\n")
    with pytest.raises(SourceError, match=r"in/b.csv lacks the column 'v', which in/a.csv has"):
        reader.poll()
    assert reader.position == position


def test_files_whose_columns_are_known_need_not_be_there_yet(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    reader = csv(tmp_path, fixed_columns=True)
    assert reader.lines() == []
    put(tmp_path / "in" / "a.csv", "v,k\n1,a\n")
    assert reader.read(reader.poll().what) == [[1, "a"]]
    (tmp_path / "in" / "a.csv").unlink()
    reader.again()
    assert reader.lines() == []


def test_an_empty_file_is_as_good_as_none_where_the_columns_are_fixed(tmp_path: Path) -> None:
    file = tmp_path / "in" / "a.csv"
    put(file, "")
    reader = csv(tmp_path, fixed_columns=True)
    assert reader.source.derive("n", tmp_path).schema.names == ("k", "v")
    assert reader.lines() == []
    put(file, "v,k\n1,a\n")
    assert reader.lines() == [[1, "a"]]
    put(file, "")
    with pytest.raises(SourceError, match="a.csv is empty, so its columns are not known"):
        csv(tmp_path, fixed_columns=False)


@pytest.mark.parametrize(("operator", "text"), [("csv", "op,k\n+I,a\n"), ("jsonl", '{"op": "+I", "k": "a"}\n')])
def test_a_live_run_knows_the_column_with_the_kinds_even_when_its_files_are_gone(
    tmp_path: Path, operator: str, text: str
) -> None:
    parameters = {"path": "in", "monitor_interval_ms": 100, "kind_column": "op"}
    file = tmp_path / "in" / f"a.{operator}"
    put(file, text)
    source = {"id": "s", "operator": operator, "parameters": parameters}
    planned = plan_live(Pipeline.from_dict({"nodes": [source]}), KnownTypes(), tmp_path)
    assert planned.pipeline.nodes[0].parameters["types"] == {"k": "STRING", "op": "STRING"}
    file.unlink()
    resumed = plan_live(planned.pipeline, KnownTypes(), tmp_path)
    assert resumed.sources[0].schema.names == ("k",)


def test_a_key_that_comes_later_is_no_column_where_the_columns_are_fixed(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    put(file, '{"v": 1}\n')
    fixed = {"path": "a.jsonl", "monitor_interval_ms": 1, "types": {"v": "bigint"}, "fixed_columns": True}
    source = JsonLines.model_validate(fixed)
    put(file, '{"v": 2, "w": 3}\n', "a")
    assert source.derive("n", tmp_path).schema.names == ("v",)
    assert Reader(source, tmp_path).lines() == [[1], [2]]


def test_json_lines_grow_too_and_what_was_taken_can_be_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    put(file, '{"v": 1}\n')
    source = JsonLines.model_validate({"path": "a.jsonl", "monitor_interval_ms": 1})
    reader = Reader(source, tmp_path)
    first = reader.poll()
    put(file, '{"v": 2}\n', "a")
    assert reader.lines() == [[2]]
    assert reader.read(first.what) == [[1]]
