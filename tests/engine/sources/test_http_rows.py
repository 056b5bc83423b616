"""Posted rows as a source: columns before the first post, and the records that a live run reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.contract.stream import Limit
from engine.errors import SourceError
from engine.reading.files import received
from engine.reading.files.received import receive, received_files
from engine.sources.http_rows import HttpRows

TYPES = {"id": "bigint", "ts": "bigint"}
ALL = Limit(1000, 1 << 20)


def test_columns_are_those_that_were_posted_and_those_with_a_type(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nothing was posted to /rows/orders yet"):
        HttpRows(path="orders").derive("n", tmp_path)
    typed = HttpRows(path="orders", types=TYPES)
    assert typed.derive("n", tmp_path).schema.names == ("id", "ts")
    receive(tmp_path, "orders", ['{"id":1,"note":"x"}'])
    assert HttpRows(path="orders").derive("n", tmp_path).schema.names == ("id", "note")
    assert typed.derive("n", tmp_path).schema.names == ("id", "note", "ts")


@pytest.mark.parametrize(
    ("address", "told"),
    [("", "path: give a name such as orders")]
    + [(wrong, "is not an address; give a name") for wrong in ("a/b", "../orders", "orders.jsonl")],
)
def test_an_address_that_is_none_is_a_sentence(tmp_path: Path, address: str, told: str) -> None:
    with pytest.raises(SourceError, match=told):
        HttpRows(path=address, types=TYPES).derive("n", tmp_path)


def test_a_live_run_reads_what_was_posted_once(tmp_path: Path) -> None:
    stream = HttpRows(path="orders", types=TYPES, monitor_interval_ms=1).stream("n", tmp_path, "run")
    taken = stream.poll(None, ALL, 0)
    assert taken.what is None
    found = []
    for at in range(3):
        receive(tmp_path, "orders", [f'{{"id":{at},"ts":{at}}}', '{"id":"x"}'])
        taken = stream.poll(taken.position, ALL, 10 + 10 * at)
        scan = stream.read(taken.what)
        for part in (each for given in scan.parts for each in scan.read(given)):
            found += [(row["id"], row["ts"]) for row in part.records.to_pylist()]
            found += [(row.file, row.line) for row in part.rejected]
    assert found == [entry for at in range(3) for entry in ((at, at), ("received/orders.jsonl", 2 + 2 * at))]
    assert stream.poll(taken.position, ALL, 100).what is None


def test_what_is_posted_goes_to_further_files_and_is_read_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received, "FILE_BYTES", 20)
    stream = HttpRows(path="orders", types=TYPES, monitor_interval_ms=1).stream("n", tmp_path, "run")
    position, found, files = None, [], set()
    for at in range(12):
        receive(tmp_path, "orders", [f'{{"id":{at},"ts":{at}}}'])
        if at % 3 == 2:
            taken = stream.poll(position, ALL, 10 + 10 * at)
            position = taken.position
            scan = stream.read(taken.what)
            for part in (each for given in scan.parts for each in scan.read(given)):
                found += [row["id"] for row in part.records.to_pylist()]
            files |= {name for _, name, *_ in taken.what}
    assert found == [*range(12)]
    assert sorted(files)[:2] == ["received/orders.jsonl", "received/orders.part000001.jsonl"]
    assert len(files) == 6
    received_files(tmp_path, "orders")[0].unlink()
    receive(tmp_path, "orders", ['{"id":12,"ts":12}'])
    assert "received/orders.jsonl" not in stream.poll(position, ALL, 1000).position["files"]


def test_its_flink_sql_reads_the_file(tmp_path: Path) -> None:
    source = HttpRows(path="orders", types=TYPES)
    sql = source.flink_sql("orders", source.derive("n", tmp_path).schema)
    assert "'path' = 'received/orders.jsonl'" in sql
    assert "'source.monitor-interval' = '200 ms'" in sql
