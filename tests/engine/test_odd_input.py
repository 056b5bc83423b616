"""The command line on unusual input: a clear error, rejected rows, and status 2 for impossible requests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import __main__ as command_line
from engine.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
NINES = "9" * 5000
TIMED = {"columns": [{"name": "t", "type": "TIMESTAMP"}], "rows": [["2024-01-01 00:00:00"]], "event_time": "t"}
FILE = "'connector' = 'filesystem', 'path' = 'in.csv', 'format' = 'csv'"


def document(parameters: dict[str, Any], operator: str = "rows", *between: tuple[str, Any], source: str = "s") -> str:
    """A source, a chain of nodes, and a sink."""
    nodes = [(source, operator, parameters), *((f"n{at}", *each) for at, each in enumerate(between)), ("k", "sink", {})]
    edges = [{"source": one[0], "target": other[0]} for one, other in zip(nodes, nodes[1:], strict=False)]
    made = [{"id": name, "operator": kind, "parameters": given} for name, kind, given in nodes]
    return json.dumps({"nodes": made, "edges": edges})


def column(name: str, type_: str = "BIGINT", *rows: object) -> dict[str, Any]:
    return {"columns": [{"name": name, "type": type_}], "rows": [[row] for row in rows]}


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", document(column("a"), source="x" * 300), "id: it must be no longer than 100 characters"),
        ("a.json", document(column("\ud800")), "the pipeline has '\\ud800', which is half of a character"),
        ("a.json", document({**TIMED, "watermark_delay_ms": 2**80}), "watermark_delay_ms is too large"),
        ("a.json", document(column("a"), "rows", ("filter", {"condition": f"a > {NINES}"})), "999 ... 999"),
        (
            "a.json",
            document(column("a"), "rows", ("filter", {"condition": f"{'(' * 9000}a{')' * 9000}"})),
            "too deeply",
        ),
        (
            "a.json",
            document(column("a"), "rows", ("filter", {"condition": "CAST(a AS DECIMAL(x))"})),
            "DECIMAL(X) is no type that a CAST can have.",
        ),
        (
            "a.json",
            document({"columns": [{"name": f"c{at}", "type": "INT"} for at in range(5001)]}),
            "columns: there are 5,001 columns, and 5,000 are the most.",
        ),
        ("a.json", document({"path": "/dev/zero"}, "csv"), "zero is not a regular file"),
        ("a.json", document({"path": "~nobody-of-that-name/x.csv"}, "csv"), "the home of a user that does not exist"),
        ("a.json", document({"path": "in.jsonl"}, "jsonl"), "has half of a character in its name"),
        ("a.json", json.dumps({"nodes": [{"id": 5, "operator": "rows"}], "edges": []}), "id: it must be a text"),
        ("a.json", "[" * 100_000, "the pipeline cannot be read as JSON: it is nested too deeply."),
        (
            "a.sql",
            f"CREATE TABLE t (a BIGINT) WITH ({FILE}); SELECT * FROM t LIMIT {NINES};",
            "LIMIT and OFFSET take a number",
        ),
        (
            "a.sql",
            f"CREATE TABLE t (a {'ARRAY<' * 5000}INT{'>' * 5000}) WITH ({FILE}); SELECT * FROM t;",
            "is nested too deeply",
        ),
        ("a.sql", f"-- {'x' * 2_000_000}", "the script has 2,000,003 characters, and 2,000,000 are the most."),
        (
            "a.json",
            document(column("a"), "rows", ("filter", {"condition": f"a IN ({', '.join(['1'] * 25_001)})"})),
            "it has 50,005 words and signs, and 50,000 are the most.",
        ),
        (
            "a.json",
            document(column("a"), "rows", ("filter", {"condition": f"a = '{'x' * 1_000_000}'"})),
            "it has 1,000,006 characters, and 1,000,000 are the most of an expression",
        ),
        ("a.sql", "SELECT '\0", "line 1, column 8: the quote that opens here is never closed"),
        ("a\0b.json", "", "this is no file name"),
        ("/dev/zero", "", "/dev/zero cannot be read: it is larger than 64 MB"),
    ],
)
def test_what_cannot_be_is_a_sentence_and_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, sentence: str
) -> None:
    (tmp_path / "in.csv").write_text(f"a\n{NINES}\n")
    (tmp_path / "in.jsonl").write_text('{"\\ud800": 1}\n')
    if text:
        (tmp_path / name).write_bytes(text.encode())
    status = main(["explain", str(tmp_path / name), "--engine", "local[2]"])
    said = capsys.readouterr().err
    assert (status, sentence in said, len(said) < 2100) == (2, True, True), said


@pytest.mark.parametrize(
    ("parameters", "operator", "rejected", "shown"),
    [
        (column("a.b", "BIGINT", 1), "rows", 0, '{"a.b":1}'),
        (column("a`b", "BIGINT", 1), "rows", 0, '{"a`b":1}'),
        (column("a", "DATE", 5), "rows", 1, ""),
        (column("a", "BIGINT", NINES), "rows", 1, ""),
        ({"path": "in.csv"}, "csv", 0, NINES),
        ({"path": "in.jsonl", "types": {"a": "BIGINT"}}, "jsonl", 1, '{"a":1}'),
        ({"path": "far.parquet"}, "parquet", 2, '"9999-12-31'),
    ],
)
@pytest.mark.usefixtures("spark")
def test_odd_values_are_records_or_rejected_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], parameters: Any, operator: str, rejected: int, shown: str
) -> None:
    (tmp_path / "in.csv").write_text(f"a\n{NINES}\n")
    (tmp_path / "in.jsonl").write_text(f'{{"a": {NINES}}}\n{{"a": 1}}\n')
    far = pa.array([2**62, 253_402_300_799_999_999, -(2**62), None], pa.timestamp("us"))
    pq.write_table(pa.table({"a": far}), tmp_path / "far.parquet")
    path = tmp_path / "a.json"
    path.write_text(document(parameters, operator))
    assert main(["run", str(path), "--engine", "local[2]", "--format", "jsonl"]) == 0
    said = capsys.readouterr()
    assert shown in said.out
    rows = "1 row was" if rejected == 1 else f"{rejected} rows were"
    assert said.err == (f"{rows} rejected.\n" if rejected else "")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (RecursionError(), "what was given is nested too deeply."),
        (MemoryError(), "there is no memory left."),
        (OSError(28, "No space left on device"), "the output cannot be read or written: No space left on device."),
        (KeyError("x"), "an unexpected error occurred: KeyError: 'x'."),
    ],
)
@pytest.mark.parametrize(("place", "status"), [("plan", 2), ("print_run", 1)])
def test_an_error_that_nobody_expected_is_a_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    sentence: str,
    place: str,
    status: int,
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(command_line, place, fail)
    path = tmp_path / "a.json"
    path.write_text(document(column("a", "BIGINT", 1)))
    assert main(["run", str(path), "--engine", "local[2]"]) == status
    assert capsys.readouterr().err.startswith(sentence)


def test_a_full_output_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(document(column("a", "BIGINT", 1)))
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "engine", "explain", str(path)]
        run = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (run.returncode, run.stderr) == (1, "the output cannot be read or written: No space left on device.\n")


@pytest.mark.parametrize(
    ("directive", "sentence"),
    [
        ("pipeline: 5", "studio.pipeline is 5, not a text."),
        ("pipeline: {}", "studio.pipeline is {}, not a text."),
        ("arrival: []", "studio.arrival is [], not a JSON object."),
        ("parameters: [1]", "studio.parameters is [1], not a JSON object."),
        ("node: 5", "studio.node is 5, not a JSON object."),
        ('node: {"id": 5}', "id of studio.node is 5, not a text."),
        ('node: {"operator": []}', "operator of studio.node is [], not a text."),
        ('node: {"parameters": []}', "parameters of studio.node is [], not a JSON object."),
    ],
)
def test_a_directive_of_the_wrong_kind_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], directive: str, sentence: str
) -> None:
    path = tmp_path / "a.sql"
    path.write_text(f"-- studio.{directive}\nCREATE TABLE t (a BIGINT) WITH ({FILE});\nSELECT * FROM t;\n")
    assert main(["explain", str(path), "--engine", "local[2]"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"line 2, column 1: {sentence} Remove the line, or copy it again.\n")
