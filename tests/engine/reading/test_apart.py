"""Foreign files are read in processes of their own: an abort, a lack of memory or an endless work is a sentence."""

from __future__ import annotations

import gzip
import io
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.errors import SourceError, StudioError
from engine.examples.from_file import first_pipeline
from engine.local.parsed import parsed_rows
from engine.reading import apart
from engine.reading.apart import Foreign, answer_of, answers_of, limits
from engine.reading.files.input_files import InputFile
from engine.reading.files.storage import StoredFile
from engine.sources.csv import Csv
from engine.sources.excel import Excel
from engine.sources.parquet import Parquet
from engine.sources.recording import Recording
from engine.spark.processes import is_running
from tests.engine.reading.asked import abort, count, fail, first_bytes, process, process_and_wait, refuse, stay, take
from tests.engine.reading.large import large_values
from tests.engine.sources.workbooks import write_workbook

FILE = Foreign("a.x", "n", "Choose another.")


@pytest.fixture(autouse=True)
def started() -> None:
    """The starter takes a second, or several, which no test measures."""
    apart._ANSWERS.clear()
    answer_of(FILE, process)


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_gone(pid: int) -> bool:
    for _ in range(100):
        if not is_running(pid):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize(
    ("ask", "argument", "sentence"),
    [
        (abort, (), r"n: path: the process that reads a.x ended by itself \(status -6\): .* Choose another."),
        (take, (1 << 14,), r"n: path: a.x takes more than [0-9,]+ MB of memory to be read. Choose another."),
        (stay, (60.0,), r"n: path: a.x gives no rows for 0 s. Choose another."),
        (refuse, (), r"n: field: unknown column 'q'. Available: k, v."),
        (fail, ("what?",), r"n: path: a.x cannot be read: SystemError: what\?. Choose another file"),
    ],
)
def test_the_end_of_a_reader_is_a_sentence(ask: object, argument: Sequence[object], sentence: str) -> None:
    with pytest.raises(StudioError, match=sentence):
        answer_of(FILE, ask, *argument, seconds=0.4 if ask is stay else 20)  # type: ignore[arg-type]


def test_what_exceeded_a_limit_is_not_tried_again_at_once() -> None:
    began = time.monotonic()
    for seconds in (0.4, 60):
        with pytest.raises(SourceError, match="no rows"):
            answer_of(FILE, stay, 90.0, seconds=seconds)
    assert time.monotonic() - began < 50


def test_the_time_is_for_each_answer_or_for_all() -> None:
    assert list(answers_of(FILE, count, 30, 0.1, seconds=2)) == list(range(30))
    with pytest.raises(SourceError, match="no rows"):
        list(answers_of(FILE, count, 30, 0.1, seconds=2, in_all=True))


def test_a_reader_ends_with_its_asker_and_leaves_nothing() -> None:
    answers = answers_of(FILE, process_and_wait)
    pid, folder = next(answers)
    assert pid in children_of(starter())
    assert Path(folder).is_dir()
    answers.close()  # type: ignore[attr-defined]
    assert is_gone(pid)
    assert not Path(folder).exists()


def starter() -> int:
    assert apart._STARTER._process is not None
    return apart._STARTER._process.pid


def test_a_killed_starter_takes_its_readers_with_it_and_another_is_started() -> None:
    answers = answers_of(FILE, process_and_wait)
    pid, _ = next(answers)
    os.kill(starter(), signal.SIGKILL)
    with pytest.raises(SourceError, match="ended by itself"):
        next(answers)
    assert is_gone(pid)
    assert answer_of(FILE, take, 1) == 1 << 20


def test_a_starter_that_ends_as_it_is_asked_costs_nobody_an_answer() -> None:
    assert answer_of(FILE, take, 2) == 2 << 20
    os.kill(starter(), signal.SIGSTOP)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(answer_of, FILE, take, 3)
        time.sleep(0.3)
        os.kill(starter(), signal.SIGKILL)
        assert answer.result(30) == 3 << 20


def test_a_killed_app_leaves_no_process() -> None:
    said = (
        "from engine.reading.apart import answers_of; from tests.engine.reading import asked, test_apart as t\n"
        "rows = answers_of(t.FILE, asked.process_and_wait)\n"
        "print(next(rows)[0], t.starter(), flush=True); asked.stay(60)"
    )
    with subprocess.Popen([sys.executable, "-c", said], stdout=subprocess.PIPE, text=True) as app:
        assert app.stdout is not None
        pids = app.stdout.readline().split()
        app.kill()
    assert len(pids) == 2
    assert all(is_gone(int(pid)) for pid in pids)


class Elsewhere:
    """A storage that only this process can read."""

    title = "elsewhere"

    def find(self, path: str, endings: Collection[str]) -> Sequence[StoredFile]:
        raise NotImplementedError

    def open(self, file: StoredFile) -> IO[bytes]:
        if file.path == "gone":
            message = "it went away"
            raise OSError(message)
        return io.BytesIO(bytes(2_000_000) + b"abc")


def test_a_storage_of_the_asker_is_read_through_it() -> None:
    file = InputFile("x", "x", 2_000_003, 1, Elsewhere(), "x")
    assert answer_of(FILE, first_bytes, file) == (2_000_000, b"abc")
    with pytest.raises(OSError, match="it went away"):
        answer_of(FILE, first_bytes, InputFile("gone", "x", 2_000_003, 1, Elsewhere(), "x"))


MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
STRINGS = f'<sst xmlns="{MAIN}" count="{{0}}" uniqueCount="{{0}}">{{1}}</sst>'


def with_parts(path: Path, parts: dict[str, str]) -> None:
    """A workbook with other parts."""
    write_workbook(path, {"S": {1: ["a"], 2: [1]}})
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (files | {name: text.encode() for name, text in parts.items()}).items():
            archive.writestr(name, data)


def test_a_workbook_that_announces_too_many_texts_is_a_sentence(tmp_path: Path) -> None:
    """The library aborts its process, whatever the process is."""
    strings = STRINGS.format(4_000_000_000, "<si><t>a</t></si>")
    with_parts(tmp_path / "a.xlsx", {"xl/sharedStrings.xml": strings})
    assert (tmp_path / "a.xlsx").stat().st_size < 2_500
    with pytest.raises(SourceError, match=r"a.xlsx .*Save the sheet as CSV, and read that."):
        Excel(path="a.xlsx").derive("n", tmp_path)
    # As on the first page, where it is dropped.
    assert [node.operator for node in first_pipeline("a.xlsx", tmp_path).nodes] == ["excel", "sink"]


def test_a_compressed_file_that_unpacks_without_end_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "LOOK_S", 0.3)
    # 16 GB in 16 MB.
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(bytes(16 << 20)) * 1000)
    with pytest.raises(SourceError, match=r"a.csv.gz gives no rows for 0 s. Unpack it"):
        Csv(path="a.csv.gz").derive("n", tmp_path)


def test_parquet_that_asks_for_too_much_memory_is_a_sentence(tmp_path: Path) -> None:
    large_values(tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 100_000
    source = Parquet(path="a.parquet")
    derived = source.derive("n", tmp_path)
    with pytest.raises((SourceError, OSError), match=r"a.parquet .*MB of memory"):
        parsed_rows(source, derived.schema, "n", tmp_path)


def test_a_recording_with_a_foreign_description_is_a_sentence(tmp_path: Path) -> None:
    for text in ("", "[]", '{"columns": 1}', '{"columns": [["a"]], "idle": []}', "\udcff"):
        table = pa.table({"a": [1]}).replace_schema_metadata(
            {"changelog_studio": text.encode("utf-8", "surrogateescape")}
        )
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(SourceError, match="a.parquet is no recording"):
            Recording(path="a.parquet").derive("n", tmp_path)


def test_a_worker_reads_under_a_limit_that_ends_with_the_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MEMORY_BYTES", 256 << 20)
    with limits.limited_memory():
        take(100)
        with pytest.raises(MemoryError):
            take(512)
    assert take(512) == 512 << 20
