"""CSV files on Spark: order, types, rejected lines, odd files."""

from __future__ import annotations

import gzip
import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from engine.errors import PipelineError, SourceError
from engine.model.schema import TimeUnit
from engine.reading.files import csv_sample
from engine.reading.files.csv_sample import Dialect, renamed_columns
from engine.reading.files.input_files import InputFile
from engine.sources.csv import Csv
from tests.engine.sources.reading import read, types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = "k,ts,v\na,1000,1\nb,2000,\n"


def write(folder: Path, text: str | bytes, name: str = "in.csv") -> Path:
    file = folder / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def test_lines_become_typed_rows_in_their_order(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, EVENTS)
    source = Csv(path="in.csv", event_time="ts")
    assert types(source, tmp_path) == "k string, ts bigint, v bigint"
    assert source.derive("n", tmp_path).schema.column("ts").time is TimeUnit.EPOCH_MS
    assert read(spark, source, tmp_path) == ([("a", "1000", "1"), ("b", "2000", None)], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("b,2000", "2 fields for 3 columns"),
        ("b,2000,3,4", "4 fields for 3 columns"),
        ('"b,c",2000', "2 fields for 3 columns"),
        ("b,soon,3", "column 'ts': \"soon\" is not a BIGINT"),
        ("b,2000,3.5", "column 'v': \"3.5\" is not a BIGINT"),
        ("b,,3", "column 'ts': the event time is null"),
        (
            "b,9999999999999999,3",
            "column 'ts': \"9999999999999999\" is not an event time between the years 1 and 9999; check its unit",
        ),
        ('"b,2000,3', "a quoted field is not closed in its line, or continues after its closing quote"),
        ('b,2000,"3', "a quoted field is not closed in its line, or continues after its closing quote"),
        ('"b"x,2000,3', "a quoted field is not closed in its line, or continues after its closing quote"),
        (b"b\xff,2000,3", "the line is not UTF-8; save the file as UTF-8"),
    ],
)
def test_a_line_that_cannot_be_read_is_rejected_with_its_place(
    spark: SparkSession, tmp_path: Path, line: str | bytes, reason: str
) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    write(tmp_path, b"k,ts,v\na,1000,1\n\n" + raw + b"\nc,3000,3\n")
    records, rejected = read(
        spark, Csv(path="in.csv", event_time="ts", types={"ts": "BIGINT", "v": "BIGINT"}), tmp_path
    )
    assert records == [("a", "1000", "1"), ("c", "3000", "3")]
    assert rejected == [("in.csv", 4, raw.decode(errors="replace"), reason)]


def test_the_raw_text_of_a_rejected_line_is_cut(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "k,v\n" + "x" * 2000 + "\n")
    _, rejected = read(spark, Csv(path="in.csv"), tmp_path)
    assert len(rejected[0][2]) == 500


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ('"b,c"', "b,c"),
        ('"say ""hi"""', 'say "hi"'),
        ('"""b"""', '"b"'),
        ('5" pipe', '5" pipe'),
        ('"b" ', "b"),
        ("b'c", "b'c"),
        (" b ", " b "),
        ("b\\c", "b\\c"),
    ],
)
def test_quotes_follow_rfc_4180(spark: SparkSession, tmp_path: Path, field: str, value: str) -> None:
    write(tmp_path, f"k,v\n{field},1\n")
    assert read(spark, Csv(path="in.csv"), tmp_path) == ([(value, "1")], [])


def test_separator_quote_and_null_text_can_be_chosen(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "k|v\n'a|b'|1\nNULL|NULL\n")
    source = Csv(path="in.csv", separator="|", quote="'", null_text="NULL")
    assert read(spark, source, tmp_path) == ([("a|b", "1"), (None, None)], [])
    write(tmp_path, "k\tv\na\t1\nb\n", "in.tsv")
    records, rejected = read(spark, Csv(path="in.tsv", separator="\\t"), tmp_path)
    assert records == [("a", "1")]
    assert rejected[0][3] == "1 field for 2 columns"


def test_an_empty_field_is_null_or_what_flink_makes_of_it(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, 's,n,b,d\na,1,true,2024-01-01\n"",2,,2024-01-02\nx,,true,2024-01-01\nx,1,true,\n')
    as_null = [("a", "1", "true", "2024-01-01"), (None, "2", None, "2024-01-02"), ("x", None, "true", "2024-01-01")]
    assert read(spark, Csv(path="in.csv"), tmp_path) == ([*as_null, ("x", "1", "true", None)], [])
    for null_text, first in (("", "a"), ("a", None)):
        source = Csv(path="in.csv", null_text=null_text, empty_is_null=False)
        records, rejected = read(spark, source, tmp_path)
        assert records == [(first, "1", "true", "2024-01-01"), ("", "2", "false", "2024-01-02")]
        assert [reason for *_, reason in rejected] == [
            "column 'n' is empty, which is no BIGINT; 'csv.null-literal' = '' makes it NULL",
            "column 'd' is empty, which is no DATE; 'csv.null-literal' = '' makes it NULL",
        ]


def test_a_byte_order_mark_and_crlf_are_no_data(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, b"\xef\xbb\xbf" + EVENTS.replace("\n", "\r\n").encode())
    assert read(spark, Csv(path="in.csv"), tmp_path) == ([("a", "1000", "1"), ("b", "2000", None)], [])


def test_odd_column_names_work(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, '"a b",c.d,e`f,größe,"x,y",1,order\n1,2,3,4,5,6,7\n')
    source = Csv(path="in.csv", event_time="c.d")
    assert list(source.derive("n", tmp_path).schema.names) == ["a b", "c.d", "e`f", "größe", "x,y", "1", "order"]
    assert read(spark, source, tmp_path) == ([("1", "2", "3", "4", "5", "6", "7")], [])


@pytest.mark.parametrize(
    "name", ["a b.csv", "c%20d.csv", "e+f.csv", "g#h.csv", "ü.csv", "i[1].csv", "j{2}.csv", "m?n.csv"]
)
def test_odd_file_names_work(spark: SparkSession, tmp_path: Path, name: str) -> None:
    write(tmp_path, "k,v\na,1\nb\n", name)
    records, rejected = read(spark, Csv(path=name), tmp_path)
    assert records == [("a", "1")]
    assert rejected == [(name, 3, "b", "1 field for 2 columns")]


def test_without_a_header_columns_are_numbered_or_named(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "a,1\nb,2\n")
    assert types(Csv(path="in.csv", header=False), tmp_path) == "column1 string, column2 bigint"
    named = Csv(path="in.csv", header=False, names=("k", "v"))
    assert types(named, tmp_path) == "k string, v bigint"
    assert read(spark, named, tmp_path) == ([("a", "1"), ("b", "2")], [])


def test_a_file_with_only_a_header_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "k,v")
    assert read(spark, Csv(path="in.csv"), tmp_path) == ([], [])


def test_an_empty_file_with_names_has_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "")
    assert read(spark, Csv(path="in.csv", header=False, names=("k",)), tmp_path) == ([], [])


def test_splits_and_files_keep_the_order_of_lines_and_exact_line_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """Files of very different sizes, cut into many splits, which Spark groups by size."""
    expected, broken = [], []
    for name, rows in (("1.csv", 40), ("2.csv", 3000), ("3.csv", 7), ("4.csv", 900)):
        lines = ["id,file"]
        for at in range(rows):
            if at % 500 == 499:
                lines.append("broken")
                broken.append((name, at + 2))
            else:
                lines.append(f"{at},{name}")
                expected.append((str(at), name))
        write(tmp_path, "\n".join(lines) + "\n", name)
    settings = {"spark.sql.files.maxPartitionBytes": "2000", "spark.sql.files.openCostInBytes": "1"}
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        for path in (".", "*.csv"):
            records, rejected = read(spark, Csv(path=path), tmp_path)
            assert records == expected
            assert [row[:2] for row in rejected] == broken
    finally:
        for name, value in before.items():
            spark.conf.set(name, value) if value is not None else spark.conf.unset(name)


def test_ordinals_rise_from_part_to_part(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("1.csv", "2.csv"):
        write(tmp_path, "k\na\nb\n", name)
    frames = Csv(path="*.csv").read(spark, "n", tmp_path)
    found = sorted(row[0] for row in frames.records.select("__ordinal").collect())
    assert found == [1, 2, (1 << 32) + 1, (1 << 32) + 2]


def test_an_empty_file_among_others_is_passed_over(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "", "1.csv")
    write(tmp_path, "k\nb\n", "2.csv")
    assert read(spark, Csv(path="*.csv"), tmp_path) == ([("b",)], [])


def test_compressed_files_are_read(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(EVENTS.encode()))
    assert read(spark, Csv(path="."), tmp_path) == ([("a", "1000", "1"), ("b", "2000", None)], [])


def test_quoted_line_breaks_are_read_on_request(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, 'k,v\n"a\nb",1\nbroken\n"c\n\nd ""x""",2\n')
    records, rejected = read(spark, Csv(path="in.csv", multi_line=True), tmp_path)
    assert records == [("a\nb", "1"), ('c\n\nd "x"', "2")]
    assert rejected == [("in.csv", 4, "broken", "1 field for 2 columns")]


def test_without_the_request_a_line_break_leaves_a_quote_open(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, 'k,v\n"a\nb c"\nc,2\n')
    records, rejected = read(spark, Csv(path="in.csv"), tmp_path)
    assert records == [("c", "2")]
    assert [row[1] for row in rejected] == [2, 3]


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        ("INT", "12", "12"),
        ("INT", "3000000000", None),
        ("DECIMAL(10,2)", "1.105", "1.11"),
        ("DOUBLE", "1e3", "1000.0"),
        ("BOOLEAN", "True", "true"),
        ("DATE", "2024-05-01", "2024-05-01"),
        ("TIMESTAMP_LTZ(3)", "2024-05-01T10:00:00+02:00", "2024-05-01 08:00:00"),
        ("TIMESTAMP(3)", "2024-05-01 10:00:00.5", "2024-05-01 10:00:00.5"),
        ("TIMESTAMP(3)", "2024-05-01T10:00:00+02:00", "2024-05-01 08:00:00"),
        ("TIMESTAMP(3)", "1500", "1970-01-01 00:00:01.5"),
        ("TIMESTAMP_LTZ(3)", "12:30", None),
        ("TIMESTAMP_LTZ(3)", "2024-02-30 10:00:00", None),
        ("STRING", "007", "007"),
        ("ARRAY<INT>", '"[1,2]"', "[1, 2]"),
        ("BIGINT", "99999999999999999999", None),
    ],
)
def test_a_type_can_be_set(spark: SparkSession, tmp_path: Path, type_: str, text: str, expected: str | None) -> None:
    write(tmp_path, f"x\n{text}\n")
    records, rejected = read(spark, Csv(path="in.csv", types={"x": type_}), tmp_path)
    assert records == ([(expected,)] if expected is not None else [])
    assert len(rejected) == (expected is None)


@pytest.mark.parametrize(
    ("text", "unit", "kind"),
    [
        ("1700000000000", None, TimeUnit.EPOCH_MS),
        ("1700000000", "epoch_s", TimeUnit.EPOCH_S),
        ("2023-11-14 22:13:20", None, TimeUnit.TIMESTAMP),
        ("2023-11-14T23:13:20+01:00", None, TimeUnit.TIMESTAMP),
        ("2023-11-14T22:13:20Z", None, TimeUnit.TIMESTAMP),
    ],
)
def test_event_times_of_all_kinds_are_the_same_instant(
    spark: SparkSession, tmp_path: Path, text: str, unit: str | None, kind: TimeUnit
) -> None:
    write(tmp_path, f"t\n{text}\n")
    source = Csv.model_validate({"path": "in.csv", "event_time": "t", "event_time_unit": unit})
    column = source.derive("n", tmp_path).schema.column("t")
    assert column.time is kind
    frames = source.read(spark, "n", tmp_path)
    assert frames.records.selectExpr(column.milliseconds).collect()[0][0] == 1_700_000_000_000


@pytest.mark.parametrize(
    ("files", "parameters", "sentence"),
    [
        ({}, {"path": "in.csv"}, "there is no file in.csv in "),
        ({}, {"path": "*.csv"}, "no file matches *.csv in "),
        ({}, {"path": "."}, "the folder . has no file that ends in .csv, .tsv, .txt; put one there"),
        ({}, {"path": ""}, "no file is chosen"),
        ({"in.csv": ""}, {}, "in.csv is empty, so its columns are not known; give a file with a header, or names."),
        ({"in.csv": "\na\n"}, {}, "line 1 of in.csv is blank"),
        ({"in.csv": "k\n1\n"}, {"names": ["a", "b"]}, "names: 2 names, but in.csv has 1 columns: k."),
        ({"in.csv": "k\n1\n"}, {"types": {"v": "INT"}}, "types: unknown column 'v'. Available: k."),
        ({"_in.csv": "k\n1\n"}, {"path": "_in.csv"}, "Spark skips files whose name starts with _"),
        ({"1.csv": "k,v\n", "2.csv": "v,k\n"}, {"path": "*.csv"}, "2.csv has its columns in another order than 1.csv"),
        ({"1.csv": "k,v\n", "2.csv": "k\n"}, {"path": "*.csv"}, "2.csv lacks the column 'v', which 1.csv has"),
        ({"1.csv": "k\n", "2.csv": "k,v\n"}, {"path": "*.csv"}, "2.csv has a column 'v' more than 1.csv (k)"),
        ({"in.csv": "k\x00\n"}, {}, "the header of in.csv is not UTF-8 text"),
        ({"in.csv.gz": "no gzip"}, {"path": "in.csv.gz"}, "in.csv.gz cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_read_at_all_is_a_sentence(
    tmp_path: Path, files: dict[str, str], parameters: dict[str, Any], sentence: str
) -> None:
    for name, text in files.items():
        write(tmp_path, text, name)
    with pytest.raises(SourceError) as caught:
        Csv.model_validate({"path": "in.csv", **parameters}).derive("n", tmp_path)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("n: ")


def test_a_file_without_permission_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, EVENTS)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(SourceError, match="in.csv cannot be read"):
        Csv(path="in.csv").derive("n", tmp_path)


def test_a_separator_that_is_the_quote_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a;b\n")
    with pytest.raises(PipelineError, match="separator and quote are both ';'; choose two different characters"):
        Csv(path="in.csv", separator=";", quote=";").derive("n", tmp_path)


def test_a_separator_of_two_characters_is_a_sentence(tmp_path: Path) -> None:
    write(tmp_path, EVENTS)
    with pytest.raises(PipelineError, match="separator: '::' is not one character"):
        Csv(path="in.csv", separator="::").derive("n", tmp_path)


def test_a_changed_file_is_looked_at_again(tmp_path: Path) -> None:
    write(tmp_path, "k\n1\n")
    assert types(Csv(path="in.csv"), tmp_path) == "k bigint"
    write(tmp_path, "k\nabc\n")
    assert types(Csv(path="in.csv"), tmp_path) == "k string"


def test_flink_sql_is_a_filesystem_table(tmp_path: Path) -> None:
    write(tmp_path, "k,at\na,2024-05-01 10:00:00\n")
    source = Csv(path="in.csv", event_time="at", watermark_delay_ms=5000)
    sql = source.flink_sql("in", source.derive("in", tmp_path).schema)
    assert "`at` TIMESTAMP(3)" in sql
    assert "WATERMARK FOR `at` AS `at` - INTERVAL '5' SECOND" in sql
    assert "'connector' = 'filesystem'" in sql


@pytest.mark.parametrize(
    ("header", "names", "said"),
    [
        ("order id,a.b,`c`,größe,kind", ("order id", "a.b", "`c`", "größe", "kind"), {}),
        ("k,K,k", ("k", "K_2", "k_3"), {"K_2": "'K' in the file, which", "k_3": "'k' in the file, which"}),
        ("k,,column2", ("k", "column2_2", "column2"), {"column2_2": "it has no name"}),
        ("__seq,b", ("seq", "b"), {"seq": "'__seq' in the file; the studio has a column of that name"}),
    ],
)
def test_every_name_in_a_header_is_usable_or_renamed_with_a_sentence(
    tmp_path: Path, header: str, names: tuple[str, ...], said: dict[str, str]
) -> None:
    (tmp_path / "in.csv").write_text(f"{header}\n{','.join('1' * len(names))}\n", encoding="utf-8")
    assert Csv(path="in.csv").derive("n", tmp_path).schema.names == names
    found = renamed_columns(header.split(","))
    assert found.keys() == said.keys()
    assert all(found[name].startswith(sentence) for name, sentence in said.items())


def test_many_objects_of_a_bucket_are_opened_together_and_are_one_source_as_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together, most = [0], [0]
    at_once = threading.Barrier(4)

    @contextmanager
    def opened(file: InputFile, node: str) -> Iterator[IO[bytes]]:
        together[0] += 1
        most[0] = max(most[0], together[0])
        if file.name != "0.csv":
            # Unless so many are opened together, this breaks.
            at_once.wait(20)
        yield io.BytesIO(b"k,odd\n1,x\n" if file.name == "7.csv" else f"k,v\n1,{file.name}\n".encode())
        together[0] -= 1

    monkeypatch.setattr(csv_sample, "opened", opened)
    monkeypatch.setattr(csv_sample, "AT_ONCE", 4)
    files = tuple(InputFile(f"s3://bucket/{at}.csv", f"{at}.csv", 10, 1) for at in range(9))
    dialect = Dialect(True, (), ",", '"', "", False, 5)
    assert [column.name for column in csv_sample.sample_csv(files[:5], dialect, "n")] == ["k", "v"]
    assert most == [4]
    with pytest.raises(SourceError, match=r"7\.csv lacks the column 'v', which 0\.csv has"):
        csv_sample.sample_csv(files, dialect, "n")
