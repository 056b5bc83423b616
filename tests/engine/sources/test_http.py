"""Rows that are posted: kept before they are answered, or refused with a sentence and not kept at all."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from engine.contract.live import Control, Live
from engine.contract.recorder import EpochOutput
from engine.errors import SourceError
from engine.model.pipeline import Pipeline
from engine.reading.posting import Journal, listening, rows_of
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.sources.http import Http
from engine.spark.run_files import LocalFiles
from tests.golden.trace import TraceRecorder, plan_of

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """A port where rows are kept in posted.jsonl, for whoever has the token."""
    journal = Journal(tmp_path / "posted.jsonl")
    server = listening(0, "secret", journal, "n")
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    journal.close()


def post(port: int, body: str | bytes, headers: dict[str, str]) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/", body, headers)
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ('{"k": "a"}', ['{"k": "a"}']),
        (' [ {"k": 1e400, "d": 0.10000000000000000001} , {} ]\n', ['{"k": 1e400, "d": 0.10000000000000000001}', "{}"]),
        ('{"k":\r\n "é\\n"}', ['{"k":   "é\\n"}']),
        ("[]", []),
    ],
)
def test_rows_are_lines_with_all_of_their_digits(body: str, lines: list[str]) -> None:
    assert [row.decode() for row in rows_of(body.encode())] == [f"{line}\n" for line in lines]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not JSON: Expecting value at character 1"),
        (b'{"k": NaN}', "NaN is no JSON"),
        (b'[{"k": 1} {"k": 2}]', "a comma is missing at character 11"),
        (b'[{"k": 1},]', "Expecting value at character 11"),
        (b'{"k": 1} {"k": 2}', "something follows it"),
        (b'[{"k": 1}', "a comma is missing"),
        (b'[{"k": 1}, 7]', "a row is a JSON object"),
        (b'{"k": "\xff"}', "not UTF-8"),
        (b"[" * 100_000, "nested too deeply|a row is a JSON object"),
    ],
)
def test_what_is_no_row_is_refused_whole(body: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        rows_of(body)


def test_a_row_is_in_the_journal_when_it_is_answered(port: int, tmp_path: Path) -> None:
    mine = JSON | {"Authorization": "Bearer secret"}
    assert post(port, '[{"k": "a"}, {"k": "b"}]', mine) == (200, {"rows": 2})
    assert (tmp_path / "posted.jsonl").read_text() == '{"k": "a"}\n{"k": "b"}\n'
    refused = [
        (post(port, "{}", JSON), 401),
        (post(port, "{}", mine | {"Content-Type": "text/plain"}), 415),
        (post(port, "{}", mine | {"Host": "evil.example"}), 403),
        (post(port, "{}", mine | {"Content-Length": "99999999999"}), 413),
        (post(port, '{"k"}', mine), 400),
    ]
    assert [status for (status, _), _ in refused] == [status for _, status in refused]
    assert all(answer["error"] for (_, answer), _ in refused)
    assert (tmp_path / "posted.jsonl").read_text() == '{"k": "a"}\n{"k": "b"}\n'


def test_a_journal_drops_the_half_of_a_line_and_touches_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"k": 1}\n{"k"')
    Journal(tmp_path / "a.jsonl").close()
    assert (tmp_path / "a.jsonl").read_text() == '{"k": 1}\n'
    for name, text in (("a.sh", "echo"), ("b.jsonl", "echo")):
        (tmp_path / name).write_text(text)
        with pytest.raises(SourceError, match=f"the journal {name} cannot be written: it"):
            Http(path=name, types={"k": "bigint"}).stream("n", tmp_path)
        assert (tmp_path / name).read_text() == text


def test_a_port_that_is_taken_and_a_token_that_is_not_there_are_sentences(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        source = Http(types={"k": "bigint"}, port=taken.getsockname()[1])
        with pytest.raises(SourceError, match=r"nobody can listen on \d+: Address already in use. Choose another port"):
            source.stream("n", tmp_path)
    with pytest.raises(SourceError, match="the environment has no NOT_THERE"):
        Http(types={"k": "bigint"}, token_variable="NOT_THERE").stream("n", tmp_path)


def test_a_live_run_takes_what_is_posted(spark: SparkSession, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    parameters = {"port": port, "types": {"k": "string", "v": "bigint"}}
    nodes = [{"id": "posted", "operator": "http", "parameters": parameters}, {"id": "out", "operator": "sink"}]
    pipeline = Pipeline.from_dict({"nodes": nodes, "edges": [{"source": "posted", "target": "out"}]})
    control = Control()
    answers: list[tuple[int, Any]] = []

    class Posting(TraceRecorder):
        """Posts once the run has begun, and again with its first epoch."""

        def begin(self, plan: Any) -> None:
            super().begin(plan)
            answers.append(post(port, '{"k": "a", "v": 1}', JSON))

        def commit(self, output: EpochOutput) -> None:
            super().commit(output)
            if len(answers) == 1:
                answers.append(post(port, '[{"k": "b", "v": 2}, {"k": "c", "v": "x"}]', JSON))
            else:
                control.stop(end=True)

    recorder = Posting()
    plan, files = plan_of(pipeline, spark, tmp_path), LocalFiles(tmp_path / "state" / "attempt")
    with in_process():
        run(plan, spark=spark, recorder=recorder, folder=tmp_path, files=files, live=Live(control, 1))
    assert answers == [(200, {"rows": 1}), (200, {"rows": 2})]
    assert recorder.changelog("out") == ["+I(a, 1)", "+I(b, 2)"]
    assert [row["line"] for row in recorder.rejected] == [3]
    with pytest.raises(ConnectionRefusedError):
        post(port, "{}", JSON)
