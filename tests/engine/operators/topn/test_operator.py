"""Top N in the planner: schema, keys, the strategy with its requirements, and Flink SQL."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from engine.contract.columnar_kernel import Layout
from engine.contract.derived import Derived, Monotonicity, constant
from engine.contract.operator import InputPlan, StepContext
from engine.contract.step import Keyed
from engine.errors import PipelineError, UnknownColumn
from engine.model.changelog import ALL_CHANGES, INSERT_UPDATE, ChangelogMode, UpdateKind
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, STRING, TIMESTAMP
from engine.operators.topn import TopN
from engine.ranking.key_order import bit_set_bucket
from engine.ranking.tied import TiedTopN
from tests.engine.planning import NoAnalyzer

SCHEMA = Schema(
    (
        Column("g", STRING),
        Column("w", STRING),
        Column("c", BIGINT, nullable=False),
        Column("t", TIMESTAMP, time=TimeUnit.TIMESTAMP),
    )
)
APPEND = Derived(SCHEMA)
KEY = frozenset({frozenset({"g", "w"})})
GROWS = {"g": Monotonicity.CONSTANT, "w": Monotonicity.CONSTANT, "c": Monotonicity.INCREASING}
COUNTS = Derived(SCHEMA, INSERT_UPDATE, KEY, GROWS)
SUMS = Derived(SCHEMA, INSERT_UPDATE, KEY, {"g": Monotonicity.CONSTANT, "w": Monotonicity.CONSTANT})
DELETES = Derived(SCHEMA, ALL_CHANGES, KEY)
RETRACT = "columnar: all rows of many partitions at once, compiled if there are many records"
APPENDED = "columnar: the best rows of an insert-only input, compiled if there are many records"
REPLACED = "columnar: the best rows of an input whose rows get better, compiled if there are many records"


def top(n: int = 3, **more: Any) -> TopN:
    return TopN(**{"partition_by": ["g"], "order_by": [{"column": "c", "descending": True}], "rank_end": n, **more})


def derive(operator: TopN, given: Derived = APPEND) -> Derived:
    return operator.derive("best", (given,), NoAnalyzer())


def kernel_of(step: Keyed) -> Any:
    assert step.kernel is None
    assert step.columnar.make is not None
    return step.columnar.make(Layout((), ((),), ()))


def stepped(operator: TopN, given: Derived, update: UpdateKind) -> tuple[Keyed, str]:
    mode = ChangelogMode.of(given.modify, update)
    inputs = (InputPlan("source", given, mode),)
    derived = derive(operator, given)
    output = ChangelogMode.of(derived.modify, UpdateKind.BEFORE_AND_AFTER)
    step = operator.step(StepContext("best", 1, inputs, output, derived))
    assert isinstance(step, Keyed)
    return step, operator.strategy(inputs, output).name


def test_the_rank_is_a_bigint_at_the_end_and_nothing_is_event_time_any_more() -> None:
    derived = derive(top(with_rank=True))
    assert derived.schema.names == ("g", "w", "c", "t", "rank")
    assert derived.schema.column("rank") == Column("rank", BIGINT, nullable=False)
    assert derived.schema.event_time is None
    assert derived.modify == ALL_CHANGES


def test_a_key_is_what_holds_without_update_before_too() -> None:
    given = Derived(SCHEMA, INSERT_UPDATE, frozenset({frozenset({"g", "w"}), frozenset({"t"})}))
    assert derive(top(with_rank=True), given).upsert_keys == {frozenset({"g", "rank"})}
    assert derive(top(), given).upsert_keys == {frozenset({"g", "w"})}
    assert derive(top(1), given).upsert_keys == {frozenset({"g"})}
    assert derive(top(2, rank_start=2, with_rank=True), given).upsert_keys == {frozenset({"g"})}
    assert derive(top(rank_start=2), given).upsert_keys == frozenset()


def test_an_insert_only_input_gives_append_fast() -> None:
    (offer,) = top().offers("best", (APPEND,), UpdateKind.BEFORE_AND_AFTER)
    assert offer.needs == (UpdateKind.NONE,)
    step, name = stepped(top(), APPEND, UpdateKind.NONE)
    assert name == "AppendFast"
    assert step.kernel is None
    assert step.columnar.why == APPENDED


def test_rows_that_only_get_better_give_update_fast_which_asks_for_no_update_before() -> None:
    fast, retract = top().offers("best", (COUNTS,), UpdateKind.BEFORE_AND_AFTER)
    assert fast.needs == (UpdateKind.ONLY_UPDATE_AFTER,)
    assert retract.needs == (UpdateKind.BEFORE_AND_AFTER,)
    step, name = stepped(top(), COUNTS, UpdateKind.ONLY_UPDATE_AFTER)
    assert name == "UpdateFast[g, w]"
    assert kernel_of(step).row_key == (0, 1)
    assert kernel_of(stepped(top(1), COUNTS, UpdateKind.ONLY_UPDATE_AFTER)[0]).row_key is None, "a Top 1 needs no keys"


def test_an_input_that_writes_update_before_for_somebody_else_gives_retract() -> None:
    step, name = stepped(top(), COUNTS, UpdateKind.BEFORE_AND_AFTER)
    assert name == "Retract"
    assert step.kernel is None
    assert step.columnar.why == RETRACT


@pytest.mark.parametrize(
    ("operator", "given", "why"),
    [
        (top(), SUMS, "a row of its input may get a worse c"),
        (top(order_by=[{"column": "c"}]), COUNTS, "a row of its input may get a worse c"),
        (top(partition_by=["t"]), COUNTS, "has no upsert key that contains t"),
        (top(), DELETES, "a row of its input may be deleted"),
    ],
)
def test_everything_else_gives_retract_and_asks_for_update_before(operator: TopN, given: Derived, why: str) -> None:
    (offer,) = operator.offers("best", (given,), UpdateKind.ONLY_UPDATE_AFTER)
    assert offer.needs == (UpdateKind.BEFORE_AND_AFTER,)
    assert why in offer.reasons[0]
    assert stepped(operator, given, UpdateKind.BEFORE_AND_AFTER)[1] == "Retract"


def test_ranks_of_an_insert_only_input_only_get_better_so_a_second_top_n_is_fast() -> None:
    keyed = Derived(SCHEMA, upsert_keys=KEY, monotonic=constant(SCHEMA.names))
    inner = derive(TopN(partition_by=("g", "w"), order_by=top().order_by, rank_end=2, with_rank=True), keyed)
    assert inner.monotonic["c"] is Monotonicity.INCREASING
    assert stepped(top(), inner, UpdateKind.ONLY_UPDATE_AFTER)[1] == "UpdateFast[g, w]"


def test_of_two_keys_the_one_is_taken_that_a_hash_set_of_bit_sets_has_first() -> None:
    assert [bit_set_bucket(places) for places in ([0], [1], [2], [0, 1], [70])] == [3, 0, 6, 1, 2]
    ranks = Derived(
        Schema((Column("k", STRING), Column("rn", BIGINT))),
        ALL_CHANGES,
        frozenset({frozenset({"rn"})}),
        constant(("rn",), ("k",)),
        shared_keys=frozenset({frozenset({"k"})}),
    )
    operator = TopN.model_validate({"order_by": [{"column": "rn"}], "rank_end": 2})
    assert stepped(operator, ranks, UpdateKind.ONLY_UPDATE_AFTER)[1] == "UpdateFast[rn]"


def test_of_limit_nothing_is_known_to_move_and_of_a_partition_that_changes_neither() -> None:
    rows = Derived(SCHEMA, monotonic=constant(SCHEMA.names))
    assert derive(top(), rows).monotonic["c"] is Monotonicity.INCREASING
    assert derive(top(partition_by=[]), rows).monotonic["c"] is Monotonicity.INCREASING
    assert derive(top(partition_by=[], limit=True), rows).monotonic == {}
    assert derive(top(), Derived(SCHEMA, ALL_CHANGES, KEY, constant((), SCHEMA.names))).monotonic == {}
    assert derive(top(with_rank=True), DELETES).monotonic == {}


def test_an_event_time_only_grows() -> None:
    rows = Derived(SCHEMA, monotonic=constant(SCHEMA.names))
    first, last = (top(order_by=[{"column": "t", "descending": descending}]) for descending in (False, True))
    assert derive(first, rows).monotonic["t"] is Monotonicity.NOT_MONOTONIC
    assert derive(last, rows).monotonic["t"] is Monotonicity.INCREASING


def test_an_unknown_column_is_named_with_those_that_exist() -> None:
    with pytest.raises(UnknownColumn, match="best: partition_by: unknown column 'q'. Available: g, w, c, t"):
        derive(top(partition_by=["q"]))


def test_a_rank_whose_name_is_taken_is_refused() -> None:
    with pytest.raises(PipelineError, match="best: rank_column: there is a column 'C' already"):
        derive(top(with_rank=True, rank_column="C"))


def test_columns_without_an_order_are_refused() -> None:
    lists = Derived(Schema((Column("g", STRING), Column("c", spark_type("array<int>")))))
    with pytest.raises(PipelineError, match=r"order_by: c is of type ARRAY<INT>, which has no order"):
        derive(top(), lists)


def test_a_rank_end_of_another_type_is_refused() -> None:
    with pytest.raises(PipelineError, match="rank_end_column: w is of type STRING, but a rank is"):
        derive(top(rank_end=None, rank_end_column="w"))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ({"rank_end": None}, "set either rank_end, a number, or rank_end_column"),
        ({"rank_end_column": "c"}, "set either rank_end, a number, or rank_end_column"),
        ({"rank_start": 4}, "the range of ranks ends at 3, before it starts at 4"),
        ({"rank_end": None, "rank_end_column": "c", "rank_start": 2}, "leave rank_start at 1"),
        ({"order_by": []}, "order_by is missing; only the first rows of all"),
    ],
)
def test_a_range_that_makes_no_sense_is_refused(more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        top(**more)


def test_in_flink_sql_it_is_a_row_number_in_a_sub_query() -> None:
    operator = top(
        with_rank=True,
        rank_start=2,
        order_by=[{"column": "c", "descending": True}, {"column": "t", "nulls": "last"}],
    )
    assert operator.flink_sql((("words", SCHEMA),)) == (
        "SELECT `g`, `w`, `c`, `t`, `rank`\n"
        "FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY `g` ORDER BY `c` DESC, `t` ASC NULLS LAST) AS `rank` "
        "FROM `words`)\n"
        "WHERE `rank` >= 2 AND `rank` <= 3"
    )
    without = top(partition_by=[], rank_end=None, rank_end_column="c").flink_sql((("words", SCHEMA),))
    assert without == (
        "SELECT `g`, `w`, `c`, `t`\n"
        "FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY `c` DESC) AS `rank` FROM `words`)\n"
        "WHERE `rank` <= `c`"
    )


@pytest.mark.parametrize("ranking", ["rank", "dense_rank"])
def test_ranks_with_ties_say_that_they_are_our_own_and_keep_the_key_of_the_row(ranking: str) -> None:
    operator = top(ranking=ranking, with_rank=True)
    name = ranking.upper()
    assert derive(operator, COUNTS).upsert_keys == {frozenset({"g", "w"})}
    (offer,) = operator.offers("best", (COUNTS,), UpdateKind.ONLY_UPDATE_AFTER)
    assert offer.needs == (UpdateKind.BEFORE_AND_AFTER,)
    for given, strategy in ((APPEND, f"AppendOnly{name}"), (COUNTS, f"Retract{name}")):
        kind = UpdateKind.BEFORE_AND_AFTER if given.has_updates else UpdateKind.NONE
        step, found = stepped(operator, given, kind)
        assert found == strategy
        assert isinstance(kernel_of(step), TiedTopN)
    inputs = (InputPlan("source", APPEND, ChangelogMode.of(APPEND.modify, UpdateKind.NONE)),)
    reason = operator.strategy(inputs, inputs[0].mode).reason
    assert f"{name} is an addition of Changelog Studio, which Flink rejects in streaming" in reason
    first, *_, last = operator.flink_sql((("words", SCHEMA),)).splitlines()
    assert first == f"-- Flink refuses {name} in streaming; it is an addition of Changelog Studio."
    assert last == "WHERE `rank` <= 3"


def test_without_an_order_what_came_first_stays_and_over_inserts_nothing_is_ever_taken_back() -> None:
    first = TopN(rank_start=2, rank_end=4)
    assert derive(first).modify == APPEND.modify
    assert derive(first, COUNTS).modify == ALL_CHANGES
    assert stepped(first, APPEND, UpdateKind.NONE)[1] == "Limit"
    step, name = stepped(first, COUNTS, UpdateKind.BEFORE_AND_AFTER)
    assert name == "Limit"
    assert step.columnar.why == RETRACT
    assert first.flink_sql((("words", SCHEMA),)) == "SELECT `g`, `w`, `c`, `t` FROM `words` LIMIT 3 OFFSET 1"


@pytest.mark.parametrize(
    ("operator", "given", "why"),
    [
        (top(3), APPEND, APPENDED),
        (TopN(partition_by=("g",), order_by=top().order_by, rank_end_column="c"), APPEND, APPENDED),
        (
            top(2),
            COUNTS,
            "columnar: the best rows of an input whose rows get better, compiled if there are many records",
        ),
        (top(2), DELETES, RETRACT),
        (top(2, ranking="rank"), APPEND, "columnar: rows that share a rank, compiled if there are many records"),
    ],
)
def test_which_rows_are_found_in_whole_batches(operator: TopN, given: Derived, why: str) -> None:
    kind = UpdateKind.ONLY_UPDATE_AFTER if given is COUNTS else UpdateKind.BEFORE_AND_AFTER
    kind = UpdateKind.NONE if given.is_insert_only else kind
    chosen = stepped(operator, given, kind)[0].columnar
    assert chosen.why == why
    assert (chosen.make is not None) == why.startswith("columnar")


def test_limit_takes_the_first_rows_of_all_and_is_written_as_such() -> None:
    first = top(partition_by=[], limit=True, rank_start=2)
    assert first.flink_sql([("t", SCHEMA)]).endswith("ORDER BY `c` DESC LIMIT 2 OFFSET 1")
    for more in ({"partition_by": ["g"]}, {"with_rank": True}, {"ranking": "rank"}):
        with pytest.raises(ValidationError, match="limit: LIMIT takes the first rows of all"):
            top(**{"partition_by": [], "limit": True, **more})
