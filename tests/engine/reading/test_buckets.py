"""Sources, workspaces and sinks in buckets of S3, Google Cloud Storage and Azure, with servers of their protocols."""

from __future__ import annotations

import io
import os
import re
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector

from engine.contract.target import SinkMode, Unreachable
from engine.errors import SourceError, TargetError
from engine.reading.files import in_time
from engine.reading.files.buckets import BucketAway, BucketError, open_bucket, told
from engine.reading.files.storage import list_files, open_file
from engine.sources.csv import Csv
from engine.sources.parquet import Parquet
from engine.spark.workspace import Workspace, writing
from engine.writing import partitions
from engine.writing.folders import Folder, place_of
from engine.writing.parquet import ParquetWriter
from tests.bucket_servers import SERVERS, BucketServer
from tests.engine.writing.epochs import epoch
from tests.engine.writing.epochs import writing as writing_into
from tests.faulty_network import Answer, faulty

ROWS = b"k,v\n" + b"".join(b"%d,x\n" % row for row in range(1000))


@pytest.fixture(scope="module", params=SERVERS)
def running(request: pytest.FixtureRequest) -> Iterator[BucketServer]:
    with SERVERS[request.param]() as server:
        yield server


@pytest.fixture
def bucket(running: BucketServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    """A server with an empty bucket, in whose environment the test is."""
    for name, value in running.environ.items():
        monkeypatch.setenv(name, value)
    yield running
    monkeypatch.setenv(running.endpoint, running.environ[running.endpoint])
    Workspace(f"{running.uri}/in").remove()


def write(uri: str, content: bytes) -> None:
    with writing(uri) as file:
        file.write(content)


def csv_rows(path: str) -> list[Any]:
    """The first column of all rows, read as the workers do."""
    scan = Csv(path=path).scan("n", Path())
    return [row for part in scan.parts for read in scan.read(part) for row in read.records.column("k").to_pylist()]


def test_files_folders_and_patterns_are_found_and_read(bucket: BucketServer) -> None:
    for name in ("a 1.csv", "b%20.csv", "deep/c.csv", "_hidden.csv", "note.md"):
        write(f"{bucket.uri}/in/{name.replace('%', '%25').replace(' ', '%20')}", ROWS)
    folder = f"{bucket.uri}/in"
    for path, files in (
        (folder, 2),
        (f"{folder}/", 2),
        (f"{folder}/a%201.csv", 1),
        (f"{folder}/*.csv", 2),
        (f"{folder}/**/*.csv", 3),
    ):
        assert len(csv_rows(path)) == files * 1000, path
    with writing(f"{folder}/p.parquet") as file:
        pq.write_table(pa.table({"n": range(1000)}), file, row_group_size=100)
    scan = Parquet(path=folder).scan("n", Path())
    assert sum(read.records.num_rows for part in scan.parts for read in scan.read(part)) == 1000


def test_what_is_not_there_is_told_with_its_place(bucket: BucketServer) -> None:
    with pytest.raises(SourceError, match=r"there is no file \S+/in/none.csv there; check the name"):
        Csv(path=f"{bucket.uri}/in/none.csv").derive("n", Path())


def test_an_object_that_changes_or_vanishes_while_it_is_read_fails(bucket: BucketServer) -> None:
    uri = f"{bucket.uri}/in/a.csv"
    write(uri, ROWS)
    scan = Csv(path=uri).scan("n", Path())
    [found] = list_files(uri, ())
    reading = open_file(uri, found.modified_ns)
    assert reading.read() == ROWS
    # A second is what S3 tells of times.
    time.sleep(1.1)
    write(uri, ROWS.replace(b"x", b"y"))
    for read in (reading.close, lambda: open_file(uri, found.modified_ns), lambda: list(scan.read(scan.parts[0]))):
        with pytest.raises(BucketError, match=r"/in/a.csv: it was written while it was read. Run again"):
            read()
    Workspace(f"{bucket.uri}/in").remove()
    with pytest.raises(BucketError, match=r"/in/a.csv: it is no longer there"):
        list(scan.read(scan.parts[0]))


def test_footers_of_many_objects_are_read_and_each_that_differs_is_named(bucket: BucketServer) -> None:
    for at in range(40):
        write(f"{bucket.uri}/many/{at:02}.parquet", parquet(pa.table({"k": [at], "v": ["a"]})))
    source = Parquet(path=f"{bucket.uri}/many/")
    assert source.derive("n", Path()).schema.names == ("k", "v")
    scan = source.scan("n", Path())
    assert [part.path.rpartition("/")[2] for part in scan.parts] == [f"{at:02}.parquet" for at in range(40)]
    write(f"{bucket.uri}/many/17.parquet", parquet(pa.table({"k": [17]})))
    with pytest.raises(SourceError, match=r"many/17.parquet lacks the column 'v'"):
        source.derive("n", Path())


def parquet(table: pa.Table) -> bytes:
    """A table as a file."""
    written = io.BytesIO()
    pq.write_table(table, written)
    return written.getvalue()


def test_a_large_object_is_read_in_few_requests(bucket: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    uri, content, asked = f"{bucket.uri}/in/large.bin", bytes(range(256)) * 8192, []
    write(uri, content)
    read = in_time.InTimeStream.read_at
    monkeypatch.setattr(
        in_time.InTimeStream, "read_at", lambda self, size, at: (asked.append(size), read(self, size, at))[1]
    )
    with open_file(uri) as file:
        assert file.read() == content
    assert len(asked) <= 3


def test_an_object_that_its_client_closed_is_opened_again(bucket: BucketServer) -> None:
    uri, content = f"{bucket.uri}/in/large.bin", bytes(range(256)) * 8192
    write(uri, content)
    with open_file(uri) as file:
        assert file.read(10) == content[:10]
        cast(Any, file).raw._stream.close()
        file.seek(1_500_000)
        assert file.read() == content[1_500_000:]


@contextmanager
def silent() -> Iterator[int]:
    """The port of a server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        yield listening.getsockname()[1]


@contextmanager
def answering(port: int, answer: Answer) -> Iterator[int]:
    with faulty(port, partial(_always, answer)) as before:
        yield before


AWAY = {
    "nobody listens": (lambda port: nullcontext(1), "cannot be reached"),
    "the server is silent": (lambda port: silent(), "cannot be reached"),
    "each answer breaks off": (lambda port: answering(port, Answer(breaks_off=40)), "cannot be reached"),
    "too many requests": (lambda port: answering(port, Answer(429)), "did not answer properly|cannot be reached"),
    "the service is unavailable": (
        lambda port: answering(port, Answer(503)),
        "did not answer properly|cannot be reached",
    ),
}


def test_a_store_that_is_away_is_told_in_time(bucket: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once: each waits for its client's patience."""
    write(f"{bucket.uri}/in/a.csv", ROWS)
    monkeypatch.setattr(in_time, "FACTS_S", 4.0)

    def look(uri: str, environ: dict[str, str]) -> None:
        with told(uri):
            system, inside = open_bucket(uri, environ)
            system.get_file_info(FileSelector(inside.rpartition("/")[0]))

    def tell(case: str) -> tuple[str, float]:
        away, _ = AWAY[case]
        with away(bucket.port) as port:
            began = time.monotonic()
            environ = {**os.environ, bucket.endpoint: f"http://127.0.0.1:{port}"}
            with pytest.raises(BucketAway) as raised:
                look(f"{bucket.uri}/in/a.csv", environ)
            return str(raised.value), time.monotonic() - began

    with ThreadPoolExecutor(len(AWAY)) as pool:
        for (case, (_, sentence)), (said, took_s) in zip(AWAY.items(), pool.map(tell, AWAY), strict=True):
            assert re.search(sentence, said), case
            assert took_s < 20, case


def _always(answer: Answer, *_: str) -> Answer:
    return answer


def error(code: str, message: str = "m") -> bytes:
    return (
        f'<?xml version="1.0" encoding="utf-8"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'.encode()
    )


REFUSED = {
    "s3": [
        (400, error("ExpiredToken"), "the credentials have expired; renew AWS_ACCESS_KEY_ID"),
        (403, error("InvalidAccessKeyId"), "S3 does not accept the credentials; check or renew AWS_ACCESS_KEY_ID"),
        (403, error("SignatureDoesNotMatch"), "S3 does not accept the credentials"),
        (403, error("AccessDenied"), "S3 forbids it; allow it to the owner of the credentials"),
    ],
    "gs": [
        (401, b'{"error":{"code":401,"message":"Invalid"}}', "Google Cloud Storage does not accept the credentials"),
        (403, b'{"error":{"code":403,"message":"no"}}', "Google Cloud Storage forbids it"),
    ],
    "abfss": [
        (403, error("AuthenticationFailed"), "Azure does not accept the credentials; check or renew AZURE_STORAGE_KEY"),
        (403, error("AuthorizationPermissionMismatch"), "Azure forbids it"),
    ],
}


def test_refused_credentials_are_one_sentence(bucket: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    write(f"{bucket.uri}/in/a.csv", ROWS)
    for status, body, sentence in REFUSED[bucket.uri.partition(":")[0]]:
        with faulty(bucket.port, partial(_always, Answer(status, body))) as port:
            monkeypatch.setenv(bucket.endpoint, f"http://127.0.0.1:{port}")
            for path in (f"{bucket.uri}/in", f"{bucket.uri}/in/a.csv"):
                with pytest.raises(SourceError, match=sentence) as raised:
                    Csv(path=path).derive("n", Path())
                assert path in str(raised.value)
                assert "\n" not in str(raised.value)


def test_a_full_bucket_is_told_and_keeps_what_it_has(bucket: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = error("QuotaExceeded", "QuotaExceeded")
    full = b'{"error":{"code":403,"message":"QuotaExceeded"}}' if bucket.uri.startswith("gs") else refused
    work = Workspace(f"{bucket.uri}/in/work")
    write(work.place("kept.parquet"), ROWS)

    def rule(method: str, path: str) -> Answer | None:
        is_read = method in ("GET", "HEAD") or "$batch" in path
        return None if is_read else Answer(403, full)

    with faulty(bucket.port, rule) as port:
        monkeypatch.setenv(bucket.endpoint, f"http://127.0.0.1:{port}")
        with pytest.raises(BucketError, match=r"/in/work/new.parquet: the bucket is full; delete what"):
            work.write(work.place("new.parquet"), pa.table({"n": [1]}))
    monkeypatch.setenv(bucket.endpoint, bucket.environ[bucket.endpoint])
    assert work.names(work.root) == ["kept.parquet"]


def test_missing_credentials_are_told_with_what_to_set(bucket: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    if bucket.uri.startswith("gs"):
        # A stand-in of Google Cloud Storage is asked without credentials.
        return
    write(f"{bucket.uri}/in/a.csv", ROWS)
    refused = partial(_always, Answer(403, error("AuthorizationHeaderMalformed")))
    with faulty(bucket.port, refused) as port, monkeypatch.context() as without:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AZURE_STORAGE_KEY"):
            without.delenv(name, raising=False)
        for name, value in (("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", "/nonexistent")):
            without.setenv(name, value)
        without.setenv(bucket.endpoint, f"http://127.0.0.1:{port}")
        with pytest.raises(SourceError, match=r"set (AWS_ACCESS_KEY_ID|AZURE_STORAGE_KEY)"):
            Csv(path=f"{bucket.uri}/in/a.csv").derive("n", Path())


def test_a_bucket_that_forbids_deletion_is_told_and_nothing_else_is_lost(
    bucket: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Workspace(f"{bucket.uri}/in/work")
    write(work.place("edges", "epoch=0", "a.parquet"), ROWS)
    write(work.place("steps", "epoch=0", "s.parquet"), ROWS)
    forbidden = b'{"error":{"code":403,"message":"no"}}' if bucket.uri.startswith("gs") else error("AccessDenied")

    def keeping(method: str, path: str) -> Answer | None:
        is_deletion = method == "DELETE" or "batch" in path or (method == "POST" and "delete" in path)
        return Answer(403, forbidden) if is_deletion else None

    with faulty(bucket.port, keeping) as port:
        monkeypatch.setenv(bucket.endpoint, f"http://127.0.0.1:{port}")
        for delete in (work.remove, partial(work.sweep, [work.place("steps", "epoch=0", "s.parquet")], 0)):
            with pytest.raises(BucketError, match=r"/in/work: \S.* forbids it; allow it to the owner"):
                delete()
    monkeypatch.setenv(bucket.endpoint, bucket.environ[bucket.endpoint])
    assert work.names(work.place("edges", "epoch=0")) == ["a.parquet"]
    work.sweep([work.place("steps", "epoch=0", "s.parquet")], 0)
    assert work.names(work.place("edges", "epoch=0")) == []
    assert work.names(work.place("steps", "epoch=0")) == ["s.parquet"]
    # Once the state is merged with that of the next epoch.
    for number in (1, 2):
        write(work.place("steps", f"epoch={number}", "s.parquet"), ROWS)
    work.sweep([work.place("steps", "epoch=1", "s.parquet")], 1)
    names = [work.names(work.place("steps", f"epoch={number}")) for number in range(3)]
    assert names == [[], ["s.parquet"], ["s.parquet"]]


def _fails(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ValueError("I/O operation on closed file"), OSError),
        (pa.ArrowInvalid("m"), pa.ArrowInvalid),
        (FileNotFoundError("m"), FileNotFoundError),
    ],
)
def test_a_call_raises_the_error_of_its_client(error: Exception, raised: type[Exception]) -> None:
    with pytest.raises(raised, match=str(error)):
        in_time.within(5, partial(_fails, error))


URIS = [
    ("s3:///k", r"s3:///k has no bucket: write s3://BUCKET/FOLDER"),
    ("abfss://a.dfs.core.windows.net/k", r"has no container: write abfss://CONTAINER@ACCOUNT"),
]


def test_an_export_is_a_folder_for_each_value_and_replaces_nothing(bucket: BucketServer, tmp_path: Path) -> None:
    place, file = f"{bucket.uri}/exported", tmp_path / "whole.parquet"
    pq.write_table(pa.table({"k": ["a", "b", None, "a"], "v": [1, 2, 3, 4]}), file)
    assert partitions.export(file, place_of(f"{place}/", tmp_path), ["k"]) == 3
    assert Folder(bucket.uri, "").names("exported") == [
        f"k={value}/part-00000.parquet" for value in ("__HIVE_DEFAULT_PARTITION__", "a", "b")
    ]
    with pytest.raises(TargetError, match=r"exported has files already\. Name a new folder\."):
        partitions.export(file, place, ["k"])


def test_a_sink_that_could_not_write_an_epoch_writes_it_later(
    bucket: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = writing_into(Path(), SinkMode.UPSERT)
    place = f"{bucket.uri}/in/out"
    full = (
        b'{"error":{"code":403,"message":"QuotaExceeded"}}' if bucket.uri.startswith("gs") else error("QuotaExceeded")
    )

    def manifest_refused(method: str, path: str) -> Answer | None:
        # The content of an object with its name may be in the body only.
        return None if method in ("GET", "HEAD") or ".parquet" in path else Answer(403, full)

    made = ParquetWriter(sink, place, ())
    assert made.last() is None
    made.write(0, epoch(1, "+I a 1", "+I b 1"))
    with faulty(bucket.port, manifest_refused) as port:
        monkeypatch.setenv(bucket.endpoint, f"http://127.0.0.1:{port}")
        refused = ParquetWriter(sink, place, ())
        assert refused.last() == 0
        with pytest.raises(TargetError, match="/in/out: the bucket is full; delete what"):
            refused.write(1, epoch(3, "-D a 1"))
    monkeypatch.setenv(bucket.endpoint, bucket.environ[bucket.endpoint])
    again = ParquetWriter(sink, place, ())
    assert again.last() == 0
    again.write(1, epoch(3, "-D a 1"))
    again = ParquetWriter(sink, place, ())
    assert again.last() == 1
    with pytest.raises(TargetError, match="has the records of another run already"):
        ParquetWriter(writing_into(Path(), SinkMode.UPSERT, run="other"), place, ()).last()
    monkeypatch.setenv(bucket.endpoint, "http://127.0.0.1:1")
    away = ParquetWriter(sink, place, ())
    with pytest.raises(Unreachable, match="cannot be reached"):
        away.last()


@pytest.mark.parametrize(("uri", "sentence"), URIS)
def test_a_uri_that_names_no_object_is_refused(uri: str, sentence: str) -> None:
    with pytest.raises(SourceError, match=sentence):
        Csv(path=uri).derive("n", Path())
