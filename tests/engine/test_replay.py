"""A key's state, replayed from the store: its kernel has the same output and the same state as in the run."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from engine.contract.frames import IS_EMPTY, SEQ, STATE
from engine.contract.kernel import Emitted, Key, Saved
from engine.contract.operator import Operator
from engine.contract.state_in_words import Description
from engine.contract.step import Keyed
from engine.errors import NotReplayable
from engine.examples import examples
from engine.expressions.analyzer import TypeRules
from engine.local.jobs import Spark
from engine.local.keyed import Gathered, gather
from engine.model.pipeline import Pipeline
from engine.planner import NodePlan, Plan, plan
from engine.registry import operators
from engine.replay import KeyedNode, Replay, keyed_node, keyed_nodes
from engine.replay.question import Question
from engine.runtime import run
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from engine.spark.workspace import Workspace
from storage import Store
from storage.wanted import Filter, equal
from tests.conformance.case import Case
from tests.engine.runtime.test_state_ttl import pipeline as expiring
from ui.inspect.replaying import KeyState, keys_before, state_of, touched_keys

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = Path(__file__).parents[1] / "conformance" / "cases"
# Each stateful operator at least once, with all of its strategies.
QUERIES = (
    "agg_retract_all_functions",
    "dedup_proctime_last_upsert_sink_insensitive",
    "dedup_rowtime_first_then_tumble",
    "interval_join_full_asymmetric",
    "join_full_retract_nonequi",
    "lookup_left_changelog_left",
    "match_two_keys",
    "match_within",
    "nexmark_q11",
    "normalize_upsert_agg",
    "over_equal_times_range",
    "over_rows_2",
    "set_except_all",
    "sort_by_time_then_value",
    "sink_materialize_join",
    "temporal_join_late_rows",
    "topn_append_rank",
    "topn_retract_offset_2_4",
    "topn_updatefast_group_between",
    "wa_of_hop_aggregate",
)
BUNDLED = (
    "agg_minibatch_one_bundle",
    "dedup_rowtime_first_minibatch",
    "join_minibatch_inner",
    "minibatch_agg_distinct_3",
    "minibatch_agg_global_one_phase_2",
)
EXAMPLES = ("01-word-frequency", "04-window-nothing-lost", "05-window-join", "08-top-3", "09-temporal-join")


@dataclass(frozen=True)
class Whole:
    """The result of a replay. key: None without records."""

    key: Key | None
    state: Description
    emitted: tuple[Emitted, ...]
    saved: Saved | None


@dataclass(frozen=True)
class Ran:
    """A run of two epochs in a store, with its files."""

    store: Store
    run_id: int
    plan: Plan
    work: Path
    spark: SparkSession
    _read: dict[Question, pa.Table] = field(default_factory=dict)

    def emitted(self, node: str) -> list[tuple[Any, ...]]:
        """The node's records from the run."""
        records = self.store.changelog.page(self.run_id, node, limit=10_000).records
        return [(record.seq, record.step, int(record.kind), *map(plain, record.values)) for record in records]

    def keys(self, node: KeyedNode) -> list[Key]:
        """All keys of the node's input."""
        last = self.store.runs.get(self.run_id).last_seq
        found = {
            key: None
            for event in range(1, last + 1)
            for key in touched_keys(self.store, self.run_id, node, event, lambda: self.spark).keys
        }
        return list(found)

    def replayed(self, node: KeyedNode, key: Key, event: int) -> Whole:
        """The replay of a key up to an event, in one step."""
        replay = Replay(node, self.store.replays.marks(self.run_id), event)
        questions = node.questions(() if node.is_bundled else key)
        tables = {asked.port: self.records(asked) for asked in questions}
        if node.is_bundled:
            tables = {port: until(table, event) for port, table in tables.items()}
        is_exact = not node.is_bundled and all(asked.is_exact for asked in questions)
        replay.feed(tables, None if is_exact else key, event, lambda: self.spark)
        now = replay.state(event)
        return Whole(now.key if now else None, now.state if now else (), replay.emitted, replay.end())

    def records(self, asked: Question) -> pa.Table:
        """All records of one input, read once: pages, which read up to an event, are compared with the result."""
        if asked not in self._read:
            wanted = Filter(asked.kinds, terms=equal(asked.equals))
            found = self.store.replays.records(self.run_id, asked.node, asked.output, wanted, 10_000)
            assert not found.is_cut
            self._read[asked] = found.table
        return self._read[asked]

    def kept(self, node: str) -> dict[Key, Any] | None:
        """The run's state of every key after its first epoch; None if it is in the format of a columnar kernel."""
        found: dict[Key, Any] = {}
        for file in self.work.glob(f"**/{node}/epoch=0/states/*.arrow"):
            for row in pa.Table.from_batches(Workspace(str(self.work)).mapped(str(file))).to_pylist():
                if STATE not in row:
                    return None
                key = tuple(row[name] for name in row if re.fullmatch(r"__k\d+", name))
                if not row[IS_EMPTY]:
                    found[key] = pickle.loads(row[STATE])
        return found

    @property
    def first_epoch(self) -> int:
        """The last event of the first epoch."""
        return self.store.runs.get(self.run_id).last_seq // 2


@pytest.fixture(autouse=True)
def computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute keys and values once for all replays of the same records: Spark takes a tenth of a second of CPU."""
    known: dict[tuple[Any, ...], tuple[Any, Gathered]] = {}

    def once(node: NodePlan, step: Keyed, records: Mapping[int, pa.Table], spark: Spark) -> Gathered:
        tables = [(port, id(table)) for port, table in records.items()]
        # The tables are kept, so that no other gets the same id.
        if (wanted := (node.id, *tables)) not in known:
            known[wanted] = (records, gather(node, step, records, spark))
        return known[wanted][1]

    monkeypatch.setattr("engine.replay.gather", once)


@contextmanager
def ran(pipeline: Pipeline, spark: SparkSession, folder: Path) -> Iterator[Ran]:
    planned = plan(pipeline, TypeRules(), Path())
    with Store.open(folder / "studio.duckdb") as store:
        created = store.runs.create(pipeline.name, pipeline.to_json())
        work = folder / "work"
        recorder = store.record(created.run_id)
        with in_process():
            run(planned, spark=spark, recorder=recorder, folder=Path(), files=LocalFiles(work), epochs=2, partitions=1)
        yield Ran(store, created.run_id, planned, work, spark)


def until(records: pa.Table, event: int) -> pa.Table:
    """The records up to an event."""
    return records.filter(pc.less_equal(records[SEQ], event))


def plain(value: Any) -> Any:
    """A value in a form in which stored values and kernel values are equal: instants in microseconds, NaN as a text."""
    return "NaN" if isinstance(value, float) and value != value else micros(value)


def micros(value: Any) -> Any:
    from datetime import UTC, datetime, timedelta

    if not isinstance(value, datetime):
        return dict(value) if isinstance(value, list) and value and isinstance(value[0], tuple) else value
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def as_stored(record: Emitted) -> tuple[Any, ...]:
    return (record.seq, record.step, record.kind, *map(plain, record.row))


def check(found: Ran) -> set[str]:
    """Compare the replay of every keyed operator of a run with the run. Returns the operators."""
    seen = set()
    for name in keyed_nodes(found.plan):
        node = keyed_node(found.plan, name)
        keys = found.keys(node)
        last = found.store.runs.get(found.run_id).last_seq
        whole = {key: found.replayed(node, key, last) for key in keys}
        said = [as_stored(record) for each in whole.values() for record in each.emitted]
        assert sorted(said, key=lambda record: record[:2]) == found.emitted(name), name
        kept = found.kept(name)
        for key in keys:
            assert_is_in_words(whole[key].state)
            for event in range(1, last + 1):
                part = found.replayed(node, key, event)
                before = [record for record in whole[key].emitted if record.seq <= event]
                assert list(part.emitted) == before, (name, key, event)
            assert_the_pages_tell(found, node, key)
            if kept is None:
                continue
            half = found.replayed(node, key, found.first_epoch)
            state, timers = (kept.get(half.key) if half.key is not None else None) or (None, [])
            mine = half.saved
            assert pickle.dumps(mine.state if mine else None) == pickle.dumps(state) or mine.state == state, (name, key)
            assert sorted(map(repr, mine.timers if mine else [])) == sorted(map(repr, timers)), (name, key)
        assert isinstance(node.plan.operator, Operator)
        seen.add(node.plan.operator.operator)
    return seen


def assert_the_pages_tell(found: Ran, node: KeyedNode, key: Key) -> None:
    """Check the state before and after an event as pages compute it, with records read in parts."""
    event = found.first_epoch
    parts = state_of(found.store, found.run_id, node, key, event, lambda: found.spark)
    now, before = found.replayed(node, key, event), found.replayed(node, key, event - 1)
    assert (parts.now.state if parts else ()) == now.state
    assert (parts.before.state if parts and parts.before else ()) == before.state


def assert_is_in_words(state: Description) -> None:
    for table in state:
        assert table.title
        assert table.rows
        assert table.total >= len(table.rows)
        assert all(len(row) == len(table.columns) for row in table.rows), table


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_replayed_key_by_key(name: str, spark: SparkSession, tmp_path: Path) -> None:
    with ran(examples()[name], spark, tmp_path) as found:
        assert check(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES + BUNDLED)
def test_a_query_is_replayed_key_by_key(name: str, spark: SparkSession, tmp_path: Path) -> None:
    pipeline = Case.read(CASES / f"{name}.json").pipeline(TypeRules())
    with ran(pipeline, spark, tmp_path) as found:
        assert check(found)


def in_windows(operator: str, **parameters: Any) -> Pipeline:
    """Clicks of two pages through a window operator."""
    columns = [
        {"name": "page", "type": "string"},
        {"name": "at", "type": "timestamp"},
        {"name": "ms", "type": "bigint"},
    ]
    times = [0, 4, 3, 12, 11, 30, 2, 33, 31, 50]
    rows = [[page, f"2024-01-01 00:00:{time:02}", time * 7 % 5] for time in times for page in "ab"]
    clicks = {"columns": columns, "rows": rows, "event_time": "at", "watermark_delay_ms": 3000}
    return Pipeline.model_validate(
        {
            "name": operator,
            "nodes": [
                {"id": "clicks", "operator": "rows", "parameters": clicks},
                {"id": "windows", "operator": operator, "parameters": parameters},
            ],
            "edges": [{"source": "clicks", "target": "windows"}],
        }
    )


BUILT = (
    in_windows("window_topn", size_ms=10_000, partition_by=["page"], order_by=[{"column": "ms"}], rank_end=2),
    in_windows("window_assign", kind="session", gap_ms=5000, partition_by=["page"]),
    in_windows(
        "window_aggregate",
        size_ms=20_000,
        kind="hop",
        slide_ms=10_000,
        allowed_lateness_ms=15_000,
        group_by=[{"name": "first", "expression": "upper(substr(page, 1, 1))"}],
        aggregates=[{"function": "MAX", "argument": "ms"}, {"function": "AVG", "argument": "ms + 1"}],
    ),
    expiring({"table.exec.state.ttl": "60 ms"}, events_of_each=6),
)


@pytest.mark.parametrize("pipeline", BUILT, ids=lambda pipeline: pipeline.name)
def test_a_built_pipeline_is_replayed_key_by_key(pipeline: Pipeline, spark: SparkSession, tmp_path: Path) -> None:
    with ran(pipeline, spark, tmp_path) as found:
        assert check(found)


def test_every_stateful_operator_is_among_them(spark: SparkSession) -> None:
    stateless = {"filter", "project", "python_function", "union", "unnest"}
    analyzer = TypeRules()
    pipelines = [Case.read(CASES / f"{name}.json").pipeline(analyzer) for name in QUERIES]
    pipelines += [*BUILT, *(examples()[name] for name in EXAMPLES)]
    plans = [plan(pipeline, analyzer, Path()) for pipeline in pipelines]
    keyed = {planned.node(name).operator.operator for planned in plans for name in keyed_nodes(planned)}
    # These process records by key or by time, but have no state.
    assert keyed | {"repeat", "current_watermark", "processing_time", "from_changelog", "to_changelog"} == (
        set(operators()) - stateless
    )


def test_a_node_without_state_says_so(spark: SparkSession) -> None:
    planned = plan(examples()["01-word-frequency"], TypeRules(), Path())
    with pytest.raises(NotReplayable, match="keeps no state by key"):
        keyed_node(planned, "words")


def test_in_mini_batch_the_open_bundle_is_told_and_too_many_records_are_refused(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = Case.read(CASES / "agg_minibatch_size3.json").pipeline(TypeRules())
    with ran(pipeline, spark, tmp_path) as found:
        node = keyed_node(found.plan, keyed_nodes(found.plan)[0])
        (key,) = touched_keys(found.store, found.run_id, node, 1, lambda: spark).keys
        state = state_of(found.store, found.run_id, node, key, 1, lambda: spark)
        assert state is not None
        assert state.now.state[-1].title == "Held back until the bundle ends"
        monkeypatch.setattr("ui.inspect.replaying.MOST", 2)
        with pytest.raises(NotReplayable, match="The end of a bundle depends on the records of all keys"):
            state_of(found.store, found.run_id, node, key, 4, lambda: spark)


def test_a_key_with_too_many_records_is_told_as_of_an_earlier_event(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.inspect.replaying._AT_ONCE", 3)
    with ran(examples()["08-top-3"], spark, tmp_path) as found:
        node = keyed_node(found.plan, "top_3")

        def told(most: int | None) -> KeyState:
            state = state_of(found.store, found.run_id, node, ("books",), 8, lambda: spark, most)
            assert state is not None
            return state

        cut = told(5)
        assert cut.is_cut
        assert (cut.total, cut.now.records, cut.now.event, cut.before) == (8, 4, 4, None)
        (rows,) = cut.now.state
        assert [row[:2] for row in rows.rows] == [(1, True), (2, True), (3, True), (4, False)]
        assert [row[4] for row in rows.rows] == ["b2", "b3", "b4", "b1"]
        whole = told(None)
        assert (whole.is_cut, whole.total, whole.now.event) == (False, 8, 8)
        assert whole.before is not None
        assert [row[4] for row in whole.now.state[0].rows] == ["b5", "b4", "b3", "b1"]
        assert [row[4] for row in whole.before.state[0].rows] == ["b5", "b3", "b1"]


def test_keys_are_found_by_event_and_before_it(spark: SparkSession, tmp_path: Path) -> None:
    with ran(examples()["01-word-frequency"], spark, tmp_path) as found:
        node = keyed_node(found.plan, "count_words")
        assert node.key_names == ("word",)
        assert touched_keys(found.store, found.run_id, node, 2, lambda: spark) == ((("World",),), False)
        assert keys_before(found.store, found.run_id, node, 3, lambda: spark) == (("Hello",), ("World",))
        assert state_of(found.store, found.run_id, node, ("nobody",), 3, lambda: spark) is None
        counts = keyed_node(found.plan, "count_counts")
        state = state_of(found.store, found.run_id, counts, ("1",), 3, lambda: spark)
        assert state is not None
        assert [(table.title, table.rows) for table in state.now.state] == [
            ("Accumulators", (("number of rows", 1), ("number of cnt", 1))),
            ("Result", ((1, 1),)),
        ]


def test_a_window_that_fires_by_the_watermark_alone_tells_its_key(spark: SparkSession, tmp_path: Path) -> None:
    with ran(examples()["04-window-nothing-lost"], spark, tmp_path) as found:
        node = keyed_node(found.plan, next(iter(keyed_nodes(found.plan))))
        last = found.store.runs.get(found.run_id).last_seq
        assert touched_keys(found.store, found.run_id, node, last, lambda: spark).keys
