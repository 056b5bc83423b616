"""Forms are drawn from the parameter models of all operators, and show errors at the field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.errors import PipelineError, UnknownColumn
from engine.examples import examples
from engine.model.guesses import group_column, key_column, measure_column
from engine.model.pipeline import Pipeline
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.type_texts import flink_type, spark_type
from engine.model.types import BIGINT, STRING, Type
from engine.registry import operators, sources
from tests.engine.planning import pipeline_of
from ui.builder.checking import checked
from ui.builder.editing import add_node, operator_class, set_parameter
from ui.builder.fixes import suggested_for
from ui.builder.problems import explained
from ui.forms.begun import begun
from ui.forms.complaints import complaints_of, in_words, place_of, with_titles
from ui.forms.grid import edited_rows, parse_rows, row_text
from ui.forms.instants import format_instant, parse_instant
from ui.forms.spec import FieldKind, fields_of
from ui.forms.suggest import suggested

EVERYTHING: dict[str, type[Operator] | type[Source]] = {**sources(), **operators()}
SCHEMA = Schema((Column("ts", BIGINT, time=TimeUnit.EPOCH_MS), Column("user_id", STRING), Column("amount", BIGINT)))


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_field_has_a_widget_of_its_own_kind(name: str) -> None:
    for field in fields_of(EVERYTHING[name]):
        assert field.kind is not FieldKind.JSON, f"{name}.{field.name} would be typed in as JSON"
        assert field.title
        for inner in fields_of(field.model) if field.model else ():
            assert inner.kind is not FieldKind.JSON, f"{name}.{field.name}.{inner.name}"


@pytest.mark.parametrize("name", operators())
def test_a_node_that_was_just_added_has_nothing_missing(name: str) -> None:
    cls = EVERYTHING[name]
    parameters = suggested(cls, {port: SCHEMA for port in cls.ports})
    assert complaints_of(cls, parameters, ()).rest() == ()


def test_windows_and_ranks_that_were_just_added_compute_something() -> None:
    per_window = suggested(EVERYTHING["window_aggregate"], {"in": SCHEMA})
    assert per_window["aggregates"] == suggested(EVERYTHING["aggregate"], {"in": SCHEMA})["aggregates"]
    (order,) = suggested(EVERYTHING["topn"], {"in": SCHEMA})["order_by"]
    assert order["column"] in SCHEMA.names
    # Without columns to choose from, one is still to be chosen.
    assert suggested(EVERYTHING["topn"], {"in": None})["order_by"] == [{"column": None, "descending": True}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-01-01 00:00:00", 1_704_067_200_000),
        ("2024-01-01T01:00:00.500+01:00", 1_704_067_200_500),
        ("1704067200000", 1_704_067_200_000),
        ("soon", None),
    ],
)
def test_an_instant_is_written_as_a_time(text: str, value: int | None) -> None:
    assert parse_instant(text) == value
    if value is not None:
        assert parse_instant(format_instant(value)) == value


def test_rows_that_were_just_added_can_be_run() -> None:
    rows = EVERYTHING["rows"].model_validate(suggested(EVERYTHING["rows"], {}))
    assert isinstance(rows, Source)
    assert rows.derive("rows", Path()).schema.names == ("word",)


@pytest.mark.parametrize("name", examples())
def test_the_parameters_of_examples_have_no_complaints(name: str) -> None:
    for node in examples()[name].nodes:
        cls = operator_class(node.operator)
        assert cls is not None
        assert complaints_of(cls, node.parameters, ()).rest() == ()


def test_allowed_lateness_stands_by_the_size_of_the_window_and_no_column_is_all_rows() -> None:
    fields = {field.name: field for field in fields_of(EVERYTHING["window_aggregate"])}
    at = [name for name, field in fields.items() if not field.is_rare]
    assert at.index("gap_ms") < at.index("allowed_lateness_ms") < at.index("group_by")
    call = fields["aggregates"].model
    assert call is not None
    assert {field.title: field.nothing for field in fields_of(call)}["Of"] == "all rows"


def test_a_length_of_time_that_cannot_be_read_is_said_at_its_field() -> None:
    cls = EVERYTHING["window_join"]
    parameters = {"left_keys": ["a"], "right_keys": ["b"], "size_ms": "10 parsecs"}
    complaints = complaints_of(cls, parameters, ())
    [sentence] = complaints.take(("size_ms",))
    assert sentence == "'10 parsecs' is not a duration. Write 500 ms, 10 s, 5 min or 1 h."
    assert complaints.rest() == ()


def test_everything_that_is_missing_is_said_at_once() -> None:
    complaints = complaints_of(EVERYTHING["interval_join"], {}, ())
    # Keys are not required: an interval is enough for a join.
    assert [complaints.take((name,)) for name in ("lower_ms", "upper_ms")] == [("enter a duration, such as 10 s.",)] * 2
    assert complaints.rest() == ()


def test_a_row_with_an_empty_field_is_no_missing_row_as_well() -> None:
    parameters = {"order_by": [{"column": None}], "rank_end": 3, "size_ms": 10_000}
    complaints = complaints_of(EVERYTHING["window_topn"], parameters, ())
    assert complaints.below(()) == ((("order_by", 0, "column"), "choose a column."),)


def test_what_the_planner_says_is_shown_at_its_field() -> None:
    problems = (PipelineError("condition: unknown column 'b'.", "filter", "condition"),)
    complaints = complaints_of(EVERYTHING["filter"], {"condition": "b > 1"}, problems)
    assert complaints.take(("condition",)) == ("unknown column 'b'.",)


def test_a_problem_says_its_place_in_the_form_and_no_path() -> None:
    cls = EVERYTHING["aggregate"]
    assert place_of(cls, ("aggregates", 1, "argument")) == "Aggregates, row 2, Of"
    sums = [{"function": "SUM", "argument": "q", "name": "n"}]
    unknown = UnknownColumn("sums", "aggregates.0.argument", "q", ["k"])
    assert in_words(cls, {"aggregates": sums}, unknown) == ("Aggregates, row 1, Of: unknown column 'q'. Available: k.")
    wrong = PipelineError("aggregates.0: SUM needs a column (got {}).", "sums", "aggregates.0")
    assert in_words(cls, {"aggregates": sums}, wrong) == "Aggregates, row 1: SUM needs a column (got {})."
    elsewhere = PipelineError("size_ms and aggregates.0.argument do not fit; orders.amount does.", "sums")
    assert with_titles(EVERYTHING["window_aggregate"], elsewhere.sentence) == (
        "Window size and Aggregates, row 1, Of do not fit; orders.amount does."
    )


def test_the_key_and_the_measure_of_a_schema_are_guessed() -> None:
    assert key_column(SCHEMA) == "user_id"
    orders = Schema((Column("id", BIGINT), Column("amount", BIGINT), Column("city", STRING)))
    assert (key_column(orders), group_column(orders)) == ("id", "city")
    assert group_column(Schema(orders.columns[:1])) == "id"
    trips = Schema((Column("trip_id", STRING), Column("bike", flink_type("ROW<id INT>")), Column("station", STRING)))
    assert group_column(trips) == "station"
    assert group_column(Schema(trips.columns[:2])) == "trip_id"
    assert measure_column(SCHEMA) == "amount"
    assert key_column(Schema(())) is None


@pytest.mark.parametrize(
    ("typed", "column"),
    [
        ("am", "amount_paid"),
        ("AMOUNT", "amount"),
        ("seen", "seen at"),
        ("customer.ci", "customer.city"),
        ("am + 1", None),
        ("m", None),
        ("'am'", None),
        ("null", None),
        ("", None),
    ],
)
def test_a_typed_word_is_the_column_that_it_begins_and_no_expression(typed: str, column: str | None) -> None:
    columns = ("amount_paid", "amount", "seen at", "customer.city", "nullable")
    assert begun(typed, columns) == column


@pytest.mark.parametrize(
    ("row", "types", "text"),
    [
        (["Hello", 1], ["string", "bigint"], "Hello, 1"),
        (["a, b", None], ["string", "bigint"], '"a, b",'),
        (["", None, 'say "hi"'], ["string", "string", "string"], '"", , "say ""hi"""'),
        ([" a", '5" pipe', "[b]"], ["string", "string", "string"], '" a", "5"" pipe", "[b]"'),
        (["[a]", 1], ["string", "bigint"], '"[a]", 1'),
        (["two\nlines", 1], ["string", "bigint"], '["two\\nlines", 1]'),
        ([None], ["string"], "[null]"),
        ([5, "5"], ["string", "bigint"], '[5, "5"]'),
        (["1.5000000000000000000001"], ["decimal(38,30)"], "1.5000000000000000000001"),
        ([None, 2.5], ["bigint", "double"], ", 2.5"),
        ({"watermark": 5000}, ["bigint"], '{"watermark": 5000}'),
        (["+I", "x", 7], ["kind", "string", "timestamp"], "+I, x, 7"),
        (["x"], ["string", "bigint"], '["x"]'),
    ],
)
def test_a_row_is_written_as_a_line_and_read_back(row: object, types: list[str], text: str) -> None:
    assert row_text(row, typed(*types)) == text
    assert parse_rows(text, typed(*types)) == [row]


def typed(*types: str) -> list[Type | None]:
    """Types by their texts; None for the kind."""
    return [None if type_ == "kind" else spark_type(type_) for type_ in types]


CELLS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text('a1.- ,"[]{}\\\r\n\t\x85\u2028', max_size=4)
)
TYPES = [
    "string",
    "kind",
    "bigint",
    "double",
    "decimal(10,2)",
    "boolean",
    "date",
    "timestamp",
    "array<bigint>",
    "binary",
]


@given(st.data())
def test_every_row_is_one_line_that_is_read_back_with_the_same_values(data: st.DataObject) -> None:
    types = typed(*data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=3)))
    cells = CELLS | st.lists(CELLS, max_size=2)
    rows = data.draw(st.lists(st.lists(cells, min_size=1, max_size=3) | st.dictionaries(st.text(), cells)))
    text = "\n".join(row_text(row, types) for row in rows)
    read = parse_rows(text, types)
    assert list(map(json.dumps, read)) == list(map(json.dumps, rows))
    assert "\n".join(row_text(row, types) for row in read) == text


def test_a_line_that_cannot_be_read_stays_as_it_was_typed() -> None:
    assert parse_rows('{"watermark": ', typed("bigint")) == ['{"watermark": ']
    assert parse_rows("Hello, many", typed("string", "bigint")) == [["Hello", "many"]]
    assert parse_rows('"two\nlines", 1', typed("string", "bigint")) == ['"two', ['lines"', 1]]
    assert parse_rows('"a" b, 1', typed("string", "bigint")) == ['"a" b, 1']
    assert parse_rows("[" * 100_000, typed("string")) == ["[" * 100_000]


def test_quotes_and_spaces_around_values_are_read_as_in_csv() -> None:
    types = typed("string", "string", "bigint")
    assert parse_rows('a , "b" ,"7"\r\n,, ', types) == [["a ", "b", 7], [None, None, None]]
    assert parse_rows('5" pipe,"",""', types) == [['5" pipe', "", None]]


def test_cells_that_were_not_edited_keep_their_values() -> None:
    rows = [["", 5, "1.50"], [None, "7", True]]
    columns = dict(zip(("word", "other", "amount"), typed("string", "string", "decimal(10,2)"), strict=True))
    edits = {"edited_rows": {"0": {"amount": "2.5"}}, "added_rows": [{"word": "x"}], "deleted_rows": []}
    assert edited_rows(rows, edits, columns) == [["", 5, 2.5], [None, "7", True], ["x", None, None]]


def fresh(name: str) -> Iterator[tuple[str, Pipeline]]:
    """A node of an operator as it is after its drop, and as it is with a new row in one of its lists."""
    dropped, node_id = add_node(Pipeline(), name)
    yield "dropped", suggested_for(dropped, node_id)
    yield "without values", dropped
    for field in fields_of(EVERYTHING[name]):
        if field.kind is FieldKind.ITEMS and field.model is not None:
            empty = dict.fromkeys(each.name for each in fields_of(field.model))
            for row in ({}, empty):
                yield f"a row of {field.title}", set_parameter(dropped, node_id, field.name, [row])
    for name_, kind in ((field.name, field.kind) for field in fields_of(EVERYTHING[name])):
        for value in (None, "", [], 0.5, "x") if kind is not FieldKind.TOGGLE else ():
            yield f"{value!r} as {name_}", set_parameter(dropped, node_id, name_, value)


QUOTED = re.compile(r"'[^']*'")
RAW = re.compile(r"Input should|valid|\bnull\b|the field '|\b[a-z]+_[a-z_]+\b|extra input|Value error|required|{}")


@pytest.mark.parametrize("name", EVERYTHING)
def test_a_new_node_says_in_plain_words_what_to_choose(name: str) -> None:
    for when, pipeline in fresh(name):
        for problem in checked(pipeline).problems:
            sentence = explained(pipeline, problem)
            assert not RAW.search(QUOTED.sub("", sentence)), f"{when}: {sentence}"
            assert sentence.endswith("."), f"{when}: {sentence}"


def test_a_sink_that_cannot_write_where_it_is_told_to_says_so_at_the_field(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    def problems(**sink: object) -> list[tuple[str, str]]:
        given = {"write_to": "parquet", "folder": str(tmp_path / "file"), **sink}
        verdict = checked(pipeline_of("numbers -> out", numbers=("generator", {"rows": None}), out=("sink", given)))
        return [(each.node, each.field) for each in verdict.problems]

    assert problems(writes=True) == [("out", "folder")]
    assert problems(writes=True, folder=str(tmp_path / "new")) == []
    server = {"write_to": "postgres", "mode": "append", "database": "d", "table_name": "t", "user": "u"}
    assert problems(writes=True, **server, host="a..b") == [("out", "host")]
    assert problems(writes=False) == []
