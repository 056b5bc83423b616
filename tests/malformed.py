"""Malformed inputs by number: files and what the command line is asked to do with them.

An input follows from the seed and its number alone. Most are something whole of which a little was changed.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from engine.examples import FOLDER
from engine.functions.spark import ALLOWED, REFUSED
from tests.malformed_files import Damage, File, avro, compressed, database, workbook

_CASES: Final = Path(__file__).parent / "conformance" / "cases"
_FUNCTIONS: Final = tuple(sorted(ALLOWED | set(REFUSED)))
_BYTES: Final = (
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b'"',
    b"'",
    b",",
    b"\\",
    b"{",
    b"[",
    b"9" * 40,
)
_ODD: Final[tuple[Any, ...]] = (
    *(None, True, 0, -1, 2**31, 2**63, 2**80, -(2**63), 1e308, 0.1, "", " ", "a.b", "a`b", "'", '"', "\0", "\ud800"),
    *("9" * 5000, "x" * 300, "é" * 200, "=1+1", "/dev/zero", "~nobody/x", "../x", "NaN", "1000-13-45", "🎉", "SELECT"),
    *(
        [],
        {},
        [[]],
        {"": {}},
        [1, "a", None],
        "INTERVAL '1' DAY",
        "10 s",
        "CURRENT_TIMESTAMP",
        "ARRAY<INT>",
        "MAP<",
        "row",
    ),
)
_TEXTS: Final = ("Hello", "1", "-5", "2024-01-01 00:00:00", "", "a,b", 'q"q', "1e9", "true", "null", "ü", " x ")
_TYPES: Final = ("BIGINT", "INT", "STRING", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL(10,2)", "BINARY", "TIME")
_OPERATORS: Final = ("+", "-", "*", "/", "%", "=", "<", "AND", "OR", "||", "IS", "LIKE", "&", "DIV")
_TOKENS: Final = (
    *(
        "(",
        ")",
        ",",
        ";",
        "'",
        '"',
        "`",
        "--",
        "/*",
        "*/",
        "=",
        "<>",
        "||",
        "NULL",
        "AND",
        "OVER",
        "GROUP BY",
        "JOIN",
        "ON",
    ),
    *(
        "WHERE",
        "SELECT",
        "FROM",
        "UNION ALL",
        "ORDER BY",
        "LIMIT",
        "FOR SYSTEM_TIME AS OF",
        "INTERVAL '1' HOUR",
        "CASE",
    ),
    *(
        "END",
        "CAST(",
        "ROW_NUMBER()",
        "WATERMARK FOR",
        "AS",
        "TABLE(",
        "DESCRIPTOR(",
        "WITH (",
        "9999999999999999999",
        "\0",
    ),
    *(
        "STATEMENT SET BEGIN",
        "INSERT INTO",
        "CREATE VIEW v AS",
        "SET 'x' = 'y';",
        "EXPLAIN",
        "{",
        "}",
        "::",
        "?",
        ":x",
        "@",
        "$1",
    ),
    *(
        "MAP['a']",
        "NULLIF(v)",
        "SUM(DISTINCT)",
        "JSON_OBJECT('a')",
        "DESCRIPTOR()",
        "INTERVAL 'inf' SECOND",
        "BETWEEN SYMMETRIC",
        "=> '[oops'",
        "CAST(v AS DECIMAL(x))",
    ),
)


@dataclass
class Malformed:
    """What is given: files by name, and the arguments; the statuses that may be."""

    kind: str
    number: int
    arguments: list[str]
    files: dict[str, bytes] = field(default_factory=dict)
    statuses: frozenset[int] = frozenset({0, 2})


def malformed(seed: int, number: int, kinds: Sequence[str] = ()) -> Malformed:
    """One of them."""
    chance = random.Random(f"{seed} {number}")
    kind = (tuple(kinds) or KINDS)[number % len(kinds or KINDS)]
    made = _MAKERS[kind](chance)
    made.number = number
    return made


def _csv(chance: random.Random) -> Malformed:
    width = chance.choice([1, 2, 3, 5, 5, 400])
    names = [chance.choice([f"c{at}", f"c{at}", "c", "", "a.b", "seq", "é"]) for at in range(width)]
    separator = chance.choice([",", ",", ";", "\t"])
    rows = [separator.join(chance.choice(_TEXTS) for _ in range(width)) for _ in range(chance.choice([0, 1, 5, 50]))]
    text = "\n".join([separator.join(names), *rows]).encode()
    return _read_file(chance, "csv", _damaged(chance, text), names)


def _jsonl(chance: random.Random) -> Malformed:
    rows = []
    for _ in range(chance.choice([0, 1, 5, 50])):
        row = {f"c{at}": chance.choice([*_ODD, *_TEXTS, 1, 2, 3]) for at in range(chance.choice([1, 3]))}
        rows.append(json.dumps(row))
    if chance.random() < 0.1:
        rows.append('{"c0":' * 2000 + "1" + "}" * 2000)
    return _read_file(chance, "jsonl", _damaged(chance, "\n".join(rows).encode("utf-8", "replace")), ["c0", "c1"])


def _parquet(chance: random.Random) -> Malformed:
    columns: dict[str, pa.Array] = {}
    for at in range(chance.choice([1, 2, 4])):
        values: list[Any] = [chance.randrange(-9, 9) for _ in range(20)]
        type_: Any = chance.choice(
            [
                *(
                    pa.int64(),
                    pa.int8(),
                    pa.uint64(),
                    pa.float16(),
                    pa.float64(),
                    pa.string(),
                    pa.large_string(),
                    pa.binary(),
                ),
                *(pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.date32(), pa.time64("us"), pa.duration("us")),
                *(pa.decimal128(38, 9), pa.decimal256(70, 3), pa.null(), pa.bool_()),
                *(pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())),
                *(pa.list_(pa.struct([("a", pa.list_(pa.int32()))])), pa.dictionary(pa.int32(), pa.string())),
            ]
        )
        try:
            columns[chance.choice([f"c{at}", "a.b", "", "seq", "C0"])] = pa.array([None, *values], pa.int64()).cast(
                type_
            )
        except pa.ArrowException:
            columns[f"c{at}"] = pa.array([None] * (len(values) + 1), type_)
    written = io.BytesIO()
    try:
        pq.write_table(pa.table(columns), written, compression=chance.choice(["snappy", "none", "zstd"]))
    except pa.ArrowException:
        written = io.BytesIO(b"PAR1 nothing PAR1")
    data = written.getvalue()
    return _read_file(chance, "parquet", _damaged(chance, data) if chance.random() < 0.7 else data, list(columns))


def _read_file(chance: random.Random, kind: str, data: bytes, names: Sequence[str]) -> Malformed:
    name = f"in.{kind}"
    if kind != "parquet" and chance.random() < 0.15:
        packed, suffix = chance.choice([(gzip.compress(data), ".gz"), (bz2.compress(data), ".bz2"), (data, ".gz")])
        data, name = _damaged(chance, packed) if chance.random() < 0.7 else packed, name + suffix
    parameters: dict[str, Any] = {"path": name}
    if chance.random() < 0.4 and kind != "parquet":
        declared = {column: chance.choice(_TYPES) for column in dict.fromkeys(names) if column}
        parameters["types"] = declared
    if chance.random() < 0.2:
        parameters[chance.choice(["event_time", "separator", "header", "quote", "watermark_delay_ms"])] = chance.choice(
            [*_ODD, *names]
        )
    key = chance.choice([*names, "c0"]) or "c0"
    between = chance.choice(
        [
            [],
            [],
            [("aggregate", {"group_by": [key], "aggregates": [{"function": "COUNT", "name": "n"}]})],
            [("filter", {"condition": f"`{key}` IS NOT NULL"})],
        ]
    )
    return _asked(chance, kind, _pipeline(kind, parameters, between), {name: data}, runs=0.6)


def _foreign(made: Callable[[random.Random, Damage], File], chance: random.Random) -> Malformed:
    file = made(chance, _damaged)
    parameters: dict[str, Any] = {"path": file.name}
    if chance.random() < 0.1:
        parameters["table"] = chance.choice([*_ODD, "v", "S"])
    given = _asked(chance, made.__name__, _pipeline(file.operator, parameters, []), {file.name: file.data}, runs=0.6)
    given.kind = made.__name__
    return given


def _document(chance: random.Random) -> Malformed:
    files = sorted(FOLDER.glob("*.json"))
    text = chance.choice(files).read_text(encoding="utf-8")
    if chance.random() < 0.25:
        return _asked(chance, "pipeline", _damaged(chance, text.encode()), {}, runs=0.3)
    document = json.loads(text)
    for _ in range(chance.choice([1, 1, 2, 5])):
        _change(chance, document)
    return _asked(chance, "pipeline", json.dumps(document).encode(), {}, runs=0.3)


def _change(chance: random.Random, document: Any) -> None:
    """Change one place of a document: a value, a key, an item, or all that is there."""
    places: list[tuple[Any, Any]] = []
    waiting = [document]
    while waiting:
        each = waiting.pop()
        keys = list(each) if isinstance(each, dict) else list(range(len(each))) if isinstance(each, list) else []
        places += [(each, key) for key in keys]
        waiting += [each[key] for key in keys]
    if not places:
        return
    holder, key = chance.choice(places)
    match chance.randrange(5):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[str(chance.choice(_ODD))[:400]] = holder.pop(key)
        case 2:
            other_holder, other = chance.choice(places)
            holder[key] = json.loads(json.dumps(other_holder[other]))
        case 3 if isinstance(holder, list):
            holder.append(json.loads(json.dumps(holder[key])))
        case _:
            holder[key] = chance.choice(_ODD)


def _script(chance: random.Random) -> Malformed:
    cases = sorted(path for path in _CASES.glob("*.json") if not path.name.endswith(".expected.json"))
    case = json.loads(chance.choice(cases).read_text(encoding="utf-8"))
    text = _sql_of(case)
    words = text.split(" ")
    for _ in range(chance.choice([1, 1, 2, 4])):
        at = chance.randrange(len(words))
        match chance.randrange(5):
            case 0:
                del words[at]
            case 1:
                words.insert(at, chance.choice(_TOKENS))
            case 2:
                words[at] = chance.choice(_TOKENS)
            case 3:
                words[at : at + 1] = words[at : at + chance.choice([2, 20])] * 2
            case _:
                other = chance.randrange(len(words))
                words[at], words[other] = words[other], words[at]
        words = words or ["SELECT"]
    data = " ".join(words).encode("utf-8", "replace")
    return _asked(chance, "script", _damaged(chance, data) if chance.random() < 0.1 else data, {}, name="a.sql", runs=0)


def _sql_of(case: Any) -> str:
    """All SQL that a case has, one statement after the other."""
    texts: list[str] = []
    waiting = [case]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
        elif isinstance(each, str) and each.lstrip().upper().startswith(("SELECT", "CREATE", "INSERT", "WITH", "SET")):
            texts.append(each.rstrip().rstrip(";") + ";")
    source = (
        "CREATE TABLE t (k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen');"
    )
    return " ".join([source, *texts] if texts else [source, "SELECT k , COUNT(*) FROM t GROUP BY k ;"])


def _expression(chance: random.Random) -> Malformed:
    rows = {
        "columns": [{"name": "k", "type": "STRING"}, {"name": "n", "type": "BIGINT"}],
        "rows": [["a", 1], [None, 0]],
    }
    text = _written(chance, chance.choice([0, 1, 2, 3, 4]))
    if chance.random() < 0.3:
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(_TOKENS) + text[at + chance.choice([0, 1, 3]) :]
    if chance.random() < 0.03:
        text = chance.choice(
            ["(" * 3000 + "n" + ")" * 3000, " + ".join(["n"] * 3000), "NOT " * 2000 + "true", "n" * 100_000]
        )
    between = chance.choice(
        [
            ("filter", {"condition": text}),
            ("project", {"columns": [{"name": "x", "expression": text}]}),
            ("project", {"columns": [{"name": "x", "expression": text}]}),
        ]
    )
    made = _asked(chance, "expression", _pipeline("rows", rows, [between]), {}, runs=0.4)
    # A division by zero ends a run, as it does Flink's job.
    made.statuses = frozenset({0, 1, 2}) if made.arguments[0] == "run" else made.statuses
    return made


def _written(chance: random.Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(
            [
                "n",
                "k",
                "`n`",
                "1",
                "0",
                "-1",
                "'a'",
                "NULL",
                "1.5",
                "true",
                "DATE '2024-01-31'",
                "9223372036854775807",
                "x",
            ]
        )
    inner = [_written(chance, depth - 1) for _ in range(chance.choice([0, 1, 1, 2, 2, 3]))]
    first, second = _written(chance, depth - 1), _written(chance, depth - 1)
    return chance.choice(
        [
            f"{chance.choice(_FUNCTIONS)}({', '.join(inner)})",
            f"{chance.choice(_FUNCTIONS)}({', '.join(inner)})",
            f"({first} {chance.choice(_OPERATORS)} {second})",
            f"CAST({first} AS {chance.choice(_TYPES)})",
            f"CASE WHEN {first} THEN {second} END",
            f"{first}[{second}]",
            f"(SELECT {first})",
            f"transform({first}, x -> {second})",
        ]
    )


def _store(chance: random.Random, whole: Callable[[], bytes] | None = None) -> Malformed:
    data = (whole or _whole_store)()
    match chance.randrange(8):
        case 0:
            data = chance.choice([b"", b"\0" * 4096, b"PAR1", b"SQLite format 3\0" + b"\0" * 4096, b"x" * 100_000])
        case 1:
            data = data[: chance.randrange(len(data))]
        case 2:
            # The headers.
            at = chance.randrange(12288)
            data = data[:at] + chance.randbytes(chance.choice([1, 8, 64])) + data[at + 8 :]
        case 3:
            data += chance.randbytes(chance.choice([1, 262144]))
        case _:
            changed = bytearray(data)
            for _ in range(chance.choice([1, 10, 1000])):
                changed[chance.randrange(len(changed))] = chance.randrange(256)
            data = bytes(changed)
    rows = {"columns": [{"name": "k", "type": "STRING"}], "rows": [["a"]]}
    made = _asked(chance, "store", _pipeline("rows", rows, []), {"s.duckdb": data}, runs=1)
    made.arguments += ["--store", "s.duckdb"]
    # Where damage is met while writing, the run fails.
    made.statuses = frozenset({0, 1, 2})
    return made


_WHOLE: list[bytes] = []


def _whole_store() -> bytes:
    if not _WHOLE:
        import tempfile

        from storage import Store

        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "s.duckdb"
            with Store.open(path) as store:
                for at in range(20):
                    store.runs.create(f"run {at}", "{}", engine="local[2]")
            _WHOLE.append(path.read_bytes())
    return _WHOLE[0]


def _pipeline(source: str, parameters: dict[str, Any], between: Sequence[tuple[str, dict[str, Any]]]) -> bytes:
    nodes = [("s", source, parameters), *((f"n{at}", *each) for at, each in enumerate(between)), ("k", "sink", {})]
    edges = [{"source": one[0], "target": other[0]} for one, other in zip(nodes, nodes[1:], strict=False)]
    made = [{"id": name, "operator": kind, "parameters": given} for name, kind, given in nodes]
    return json.dumps({"nodes": made, "edges": edges}).encode()


def _asked(
    chance: random.Random, kind: str, document: bytes, files: dict[str, bytes], *, name: str = "a.json", runs: float
) -> Malformed:
    if chance.random() < runs:
        arguments = ["run", name, "--format", chance.choice(["jsonl", "table"])]
    else:
        arguments = [*chance.choice([["explain"], ["explain"], ["sql"], ["sql", "--program"]]), name]
    return Malformed(kind, 0, arguments, {**files, name: document})


def _damaged(chance: random.Random, data: bytes) -> bytes:
    """The same with a little of it changed."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(5):
            case 0:
                del changed[at : at + chance.choice([1, 4, 100])]
            case 1:
                changed[at:at] = chance.choice(_BYTES)
            case 2:
                changed[at : at + 1] = chance.choice(_BYTES)
            case 3 if chance.random() < 0.3:
                del changed[at:]
            case 3 if chance.random() < 0.1:
                changed[at:at] = b"x" * 200_000
            case _ if at < len(changed):
                changed[at] = chance.randrange(256)
    return bytes(changed)


_MAKERS: Final[dict[str, Callable[[random.Random], Malformed]]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "parquet": _parquet,
    "pipeline": _document,
    "script": _script,
    "expression": _expression,
    "store": _store,
    **{made.__name__: partial(_foreign, made) for made in (workbook, database, compressed, avro)},
}
KINDS: Final = tuple(_MAKERS)
