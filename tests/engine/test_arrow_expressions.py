"""Expressions on Arrow columns: the same values as on Spark, or unsupported."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from engine.contract.step import Projection
from engine.expressions import Expression
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, INT, STRING
from engine.runtime.edges.projections import arrow_projection, renames_only

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = Schema(
    tuple(
        Column(pair.split(" ", 1)[0], spark_type(pair.split(" ", 1)[1]))
        for pair in (
            *("t tinyint", "s smallint", "v int", "n bigint", "Little int", "small bigint", "odd_name int"),
            *("k string", "j string", "d date", "e date", "ts timestamp", "us timestamp", "nt timestamp_ntz"),
            *("b boolean", "c boolean", "f double", "x decimal(10,2)", "a array<int>"),
        )
    )
)
EXTREMES: dict[str, Sequence[Any]] = {
    "tinyint": (-128, -1, 0, 1, 3, 127),
    "smallint": (-(2**15), -129, -1, 0, 1, 2**15 - 1),
    "int": (-(2**31), -1000, -7, -1, 0, 1, 2, 7, 10, 2**31 - 1),
    "bigint": (-(2**63), -(2**31) - 1, -1001, -1000, -999, -1, 0, 1, 7, 1000, 2**31, 2**63 - 1),
    "string": ("", "a", "A", "b", "ab", "é", "ß", "😀", "\uffff", "a ", "1"),
    "date": (date(1, 1, 1), date(1582, 10, 10), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)),
    "timestamp": (
        -62_135_596_800_000_000,
        -1_000_001,
        -1_000_000,
        -999_999,
        -1,
        0,
        1,
        999,
        1_000,
        1_717_200_000_123_456,
    ),
    "timestamp_ntz": (-1_001, -1, 0, 999, 10**15),
    "boolean": (True, False),
    "double": (0.0, -0.0, 1.5, float("inf"), float("nan")),
    "decimal(10,2)": (Decimal("0.00"), Decimal("-1.50"), Decimal("99999999.99")),
    "array<int>": ([], [1, None], [2]),
}
EXACT = """
k | V | `odd_name` | F | x | a | ts | nt | d | b | 1 | -1 | 2147483647 | -2147483648 | 2147483648 | 1L | 1S | 'x' | ''
true | FALSE | CAST(NULL AS INT) | -Little | Little + 1 | Little - small | Little * small * 2 | small % 7 | small % -7
MOD(n, 1000) | n % -1 | t % 3 | t % 300 | pmod(n, 1000) | pmod(t, 7) | pmod(s, 100000) | 7 - Little
(small + 1) * Little | -(small) % 3 + 1 | 10 - 3 - small | CAST(t AS BIGINT) | CAST(s AS INT)
CAST(`v` AS BIGINT) * 1000 | CAST(v AS BIGINT) | CAST(n AS STRING) | CAST(b AS STRING) | CAST(k AS STRING)
CAST(ts AS BIGINT) | CAST(nt AS TIMESTAMP) | CAST(ts AS TIMESTAMP_NTZ) | CAST(1000 AS SMALLINT)
unix_millis(CAST(`ts` AS TIMESTAMP)) | unix_millis(us) | unix_millis(CAST(nt AS TIMESTAMP)) | timestamp_millis(small)
timestamp_millis(v) | timestamp_millis(CAST(v AS BIGINT) - pmod(CAST(v AS BIGINT) - 0, 5000))
timestamp_millis((small * 1000))
timestamp_millis((CAST(`small` AS BIGINT) - pmod(CAST(`small` AS BIGINT) - 300, 500)) + 500 - 1) | v = 7 | V <> 7
v < n | t >= s | n > 2147483648 | n <= -9223372036854775808 | t = 128 | v == Little | v <=> Little | v <=> NULL
v <=> 1 | NULL <=> n | v = NULL | k = j | k < j | k >= 'a' | k <> '' | k <=> j | 'é' <= k | k = NULL | d = e | d < e
d >= DATE '1970-01-01' | d > DATE '1582-10-15' | ts < us | ts <=> us | nt > nt | ts >= TIMESTAMP '1970-01-01 00:00:00'
ts = TIMESTAMP '2024-06-01 00:00:00' | nt < TIMESTAMP_NTZ '1970-01-01 00:00:00' | b = c | b <> true | b <=> c
b AND c | b OR c | NOT b | NOT b AND c OR b | b AND NULL | b OR NULL | (b OR c) AND NOT (b AND c) | NOT v = 7
NOT (v = 7) | v IS NULL | v IS NOT NULL | a IS NULL | f IS NOT NULL AND x IS NOT NULL | NOT k IS NULL | b IS TRUE
b IS NOT TRUE | b IS FALSE | v = 1 IS NULL | v IS DISTINCT FROM Little
k IS NOT DISTINCT FROM j | NULL IS NULL | v IN (1, 2, 7) | v NOT IN (1, -7) | v IN (1, NULL) | v NOT IN (1, NULL)
NOT v IN (1, 2) | t IN (1, 300) | v IN (1, 2147483648) | k IN ('a', 'é') | k IN ('a', NULL) | k IN (NULL)
n IN (1000, -(7)) | d IN (DATE '1970-01-01') | ts IN (TIMESTAMP '1970-01-01 00:00:00') | v BETWEEN 1 AND 7
v NOT BETWEEN -7 AND Little | n BETWEEN v AND 1000 | k BETWEEN 'a' AND 'b' | d BETWEEN d AND e | v BETWEEN NULL AND 0
coalesce(v, 0) | coalesce(t, 0) | coalesce(n, 0) | coalesce(k, '') | coalesce(k, j, 'none') | coalesce(b, false)
coalesce(v = 1, false) | coalesce(f, f) | coalesce(x, x) | ifnull(v, t) | nvl(d, e) | coalesce(NULL, v, 1L)
coalesce(ts, us) | coalesce(nt, nt) | CASE WHEN v > 0 THEN 1 ELSE 0 END | CASE WHEN v > 0 THEN n WHEN b THEN t END
IF(b, 'yes', k) | IF(b, v, NULL) | if(v = 1, f, f) | CASE WHEN FALSE THEN v END | CASE WHEN b THEN d ELSE e END
IF(k = 'a' OR v IS NULL, 1, 2L) | v > 60 * 1000 | (60 * 1000L) - 5 | v % 2 = 0
v % 2 = 0 AND NOT k = 'a' OR b | -Little % 7 < 3 | (v = 7) = b | (v IS NULL) = (k IS NULL)
v + Little * 0 IS NULL OR b | small + 1 > Little * 2 | (small + 1) * (Little - 1) | Little + 1 <=> small * 2
n BETWEEN -1000 AND 1000 AND n * 1000 > 5 | n BETWEEN -1000 AND 1000 AND NOT n <> 1 AND -n * 9 < 0
n > 1000 OR n < -1000 OR n IS NULL OR CAST(n AS SMALLINT) = 7 | coalesce(IF(n BETWEEN -1000 AND 1000, NULL, n), n * 2)
IF(n BETWEEN -1000 AND 1000, n * 1000, 0) | IF(n BETWEEN -1000 AND 1000, 0, NULL) + n * 1000
v BETWEEN 1 AND IF(v > 9, 0, v + 1) | IF(n BETWEEN -1000 AND 1000, 0, NULL) < n * 1000
CASE WHEN n > 1000 THEN n WHEN n < -1000 THEN 1 ELSE CAST(n * 2 AS INT) END
CASE WHEN v > 10 THEN 1 WHEN v < -7 THEN 2 WHEN v * 1000000 > 0 THEN -v END
"""
OVERFLOWING = {
    "v + Little": "try_add(v, Little)",
    "t + t": "try_add(t, t)",
    "s - t": "try_subtract(s, t)",
    "n - v": "try_subtract(n, v)",
    "v * v": "try_multiply(v, v)",
    "s * 1000": "try_multiply(s, 1000)",
    "n * 1000": "try_multiply(n, 1000)",
    "CAST(n AS BIGINT) * 1000": "try_multiply(n, 1000L)",
    "1 - n": "try_subtract(1, n)",
    "-n": "try_multiply(n, -1)",
    "-t": "try_cast(-CAST(t AS INT) AS TINYINT)",
    "CAST(n AS INT)": "try_cast(n AS INT)",
    "CAST(v AS TINYINT)": "try_cast(v AS TINYINT)",
}
"""By expression, the one that is NULL in Spark for an error of the first."""


def listed(lines: str) -> list[str]:
    return [each.strip() for line in lines.strip().splitlines() for each in line.split(" | ")]


def composed(random: Random, count: int) -> Iterator[str]:
    """Random expressions that depend on the precedence of operators."""
    numbers = ("Little", "small", "3", "-2", "(small + 1)", "CAST(Little AS BIGINT)", "coalesce(Little, 1)")
    tests = ("v = 7", "v IS NULL", "k <> 'a'", "b", "c", "n BETWEEN -5 AND 5", "t IN (1, NULL)", "NULL", "d <=> e")
    for _ in range(count):
        number = random.choice(numbers)
        for _ in range(random.randrange(1, 4)):
            by = random.choice(("+ ", "- ", "* ", "% "))
            number += f" {by}{random.choice(('7', '-3')) if by == '% ' else random.choice(numbers)}"
        yield number
        yield f"{number} {random.choice(('=', '<', '>=', '<=>'))} {random.choice(numbers)} AND b"
        test = random.choice(tests)
        for _ in range(random.randrange(1, 5)):
            test += f" {random.choice(('AND', 'OR'))} {random.choice(('', '', 'NOT '))}{random.choice(tests)}"
        yield test
        yield f"CASE WHEN {test} THEN {random.choice(numbers)} ELSE 0 END"


def data(random: Random, rows: int) -> pa.Table:
    columns = []
    for column in SCHEMA:
        pool = range(-50, 50) if column.name in ("Little", "small") else EXTREMES[str(column.type)]
        values = [None if random.random() < 0.15 else random.choice(pool) for _ in range(rows)]
        columns.append(pa.array(values, column.type.arrow))
    return pa.table(columns, names=list(SCHEMA.names))


def on_arrow(expression: str, records: Any) -> Any:
    function = Expression.parse(expression).arrow(SCHEMA)
    assert function is not None, expression
    return function(records)


def row_by_row(expression: str, records: pa.Table) -> list[Any]:
    """The value of each row; None for an error."""
    found = []
    for at in range(len(records)):
        try:
            found += on_arrow(expression, records.slice(at, 1)).to_pylist()
        except OverflowError:
            found.append(None)
    return found


@pytest.mark.slow
def test_values_are_those_of_spark(spark: SparkSession) -> None:
    random = Random(7)
    records = data(random, 500)
    exact = list(dict.fromkeys([*listed(EXACT), *composed(random, 40)]))
    given = spark.createDataFrame(records.append_column("__at", pa.array(range(len(records)), pa.int64())))
    given = given.selectExpr("__at", *(f"CAST({column.name} AS {column.type}) AS {column.name}" for column in SCHEMA))
    texts = [*exact, *OVERFLOWING.values()]
    made = given.selectExpr("__at", *(f"{text} AS `{at}`" for at, text in enumerate(texts))).toArrow().sort_by("__at")
    for at, text in enumerate(exact):
        expected = made.column(str(at)).combine_chunks()
        assert on_arrow(text, records).type == expected.type, text
        assert str(on_arrow(text, records).to_pylist()) == str(expected.to_pylist()), text
    for at, text in enumerate(OVERFLOWING, start=len(exact)):
        assert row_by_row(text, records) == made.column(str(at)).to_pylist(), text


@pytest.mark.parametrize(
    "expression",
    [
        *(
            "f + 1",
            "f > 1",
            "x > 1",
            "x + v",
            "1.5",
            "1e3",
            "v / 2",
            "v DIV 2",
            "v % 0",
            "v % n",
            "pmod(v, -3)",
            "v & 1",
        ),
        *("k > 1", "v = '1'", "d = ts", "ts = nt", "d = '2024-01-01'", "v + k", "b > c", "a = a"),
        *("upper(k)", "k LIKE 'a%'", "k || j", r"k = '\n'", "k = 'it''s'", "rand()", "current_date", "now()"),
        *("CAST(k AS INT)", "CAST(f AS INT)", "CAST(v AS DOUBLE)", "TRY_CAST(n AS INT)", "CAST(v AS TIMESTAMP)"),
        *(
            "missing",
            "k.x",
            "a[0]",
            "sum(v)",
            "sum(v) OVER (PARTITION BY k)",
            "(SELECT 1)",
            "v IN (SELECT 1)",
            "v IN (n)",
        ),
        *("CASE v WHEN 1 THEN 2 END", "v >", "", "k AS j", "*", "v = 1 = b", "v BETWEEN 1 AND 2 = b"),
        *("b AND coalesce(n, 1) * 2 > 1", "v + coalesce(n, 2) * 2"),
        *(
            "128Y",
            "9223372036854775808",
            "CAST(300 AS TINYINT)",
            "2147483647 + 1",
            "timestamp_millis(f)",
            "unix_millis(nt)",
        ),
    ],
)
def test_what_could_differ_is_left_to_spark(expression: str) -> None:
    assert Expression.parse(expression).arrow(SCHEMA) is None


@pytest.mark.parametrize("expression", ["n * 1000", "timestamp_millis(n)", "CAST(n AS INT)", "v + 2147483647 > 0"])
def test_what_does_not_fit_stops(expression: str) -> None:
    records = pa.table({"n": pa.array([2**62], pa.int64()), "v": pa.array([2], pa.int32())})
    with pytest.raises(OverflowError, match="does not fit"):
        on_arrow(expression, records)


def test_a_compiled_expression_goes_to_workers_and_takes_batches_and_tables() -> None:
    records = data(Random(1), 50)
    function = Expression.parse("coalesce(v % 7 = 1 OR k IN ('a', 'b'), FALSE)").arrow(SCHEMA)
    assert function is not None
    sent = pickle.loads(pickle.dumps(function))
    pieces = pa.concat_tables([records.slice(0, 20), records.slice(20)])
    (batch,) = records.to_batches()
    assert sent == function
    assert sent(batch).equals(function(records))
    assert sent(pieces).equals(function(records))
    assert len(sent(records.slice(0, 0))) == 0


GIVEN = Schema((Column("k", STRING), Column("V", INT), Column("n", BIGINT)))
MADE = Schema((Column("name", STRING), Column("value", BIGINT)))


def test_a_projection_leaves_out_what_does_not_match_before_it_computes() -> None:
    records = pa.RecordBatch.from_pydict(
        {"__seq": [1, 2, 3], "k": ["a", None, "b"], "V": pa.array([1, 2, 3], pa.int32()), "n": [5, 5, 2**62]}
    )
    compiled = arrow_projection(Projection(("k", "n * 1000"), where="k = 'a'"), GIVEN, MADE)
    assert compiled is not None
    ((part, _),) = compiled.parts(records)
    assert compiled(part, ["__seq"]).to_pydict() == {"__seq": [1], "name": ["a"], "value": [5000]}


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (
            "sequence((n - pmod(n, 10)), (n - pmod(n, 10)) - 20 + 10, -10)",
            [("a", 0, 10), ("a", 1, 0), ("c", 0, -10), ("c", 1, -20)],
        ),
        (
            "array(n, CAST(v AS BIGINT))",
            [("a", 0, 12), ("a", 1, 1), (None, 0, None), (None, 1, 2), ("c", 0, -1), ("c", 1, 3)],
        ),
    ],
)
def test_records_come_once_per_element_of_a_list_of_whole_numbers(
    each: str, expected: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    records = pa.RecordBatch.from_pydict(
        {"k": ["a", None, "c"], "V": pa.array([1, 2, 3], pa.int32()), "n": [12, None, -1]}
    )
    made = Schema((Column("k", STRING), Column("e", BIGINT)))
    for most in (1, 3, 1 << 18):
        monkeypatch.setattr("engine.runtime.edges.projections._MOST", most)
        compiled = arrow_projection(Projection(("k", "__each"), each=each), GIVEN, made)
        assert compiled is not None
        found = []
        for part, ordinals in compiled.parts(records):
            assert ordinals is not None
            values = compiled(part)
            found += zip(values.column(0).to_pylist(), ordinals.tolist(), values.column(1).to_pylist(), strict=True)
        assert found == expected


def test_a_sequence_that_leads_away_from_its_end_is_an_error() -> None:
    records = pa.RecordBatch.from_pydict({"k": ["a"], "V": pa.array([1], pa.int32()), "n": [12]})
    compiled = arrow_projection(Projection(("k", "__each"), each="sequence(n, n + 1, -1)"), GIVEN, MADE)
    assert compiled is not None
    with pytest.raises(OverflowError, match="leads away"):
        list(compiled.parts(records))


def test_a_projection_casts_to_the_columns_of_its_output() -> None:
    records = pa.table({"k": ["a"], "V": pa.array([1], pa.int32()), "n": [5]})
    compiled = arrow_projection(Projection(("NULL", "v")), GIVEN, MADE)
    assert compiled is not None
    assert compiled(records).schema.types == [pa.string(), pa.int64()]


@pytest.mark.parametrize(
    "projection",
    [
        Projection(("k", "__each"), each="sequence(1, n)"),
        Projection(("k", "n"), where="n"),
        Projection(("upper(k)", "n")),
    ],
)
def test_a_projection_of_which_a_part_is_left_to_spark_is_left_whole(projection: Projection) -> None:
    assert arrow_projection(projection, GIVEN, MADE) is None


@pytest.mark.parametrize(
    ("projection", "names"),
    [
        (Projection(("K", "`n`")), ("k", "n")),
        (Projection(("k", "v")), None),
        (Projection(("k", "n + 0")), None),
        (Projection(("k", "n"), where="TRUE"), None),
        (Projection(("k", "n"), each="array(1)"), None),
    ],
)
def test_only_plain_columns_of_the_same_type_are_renamed(projection: Projection, names: tuple[str, ...] | None) -> None:
    assert renames_only(projection, GIVEN, MADE) == names
