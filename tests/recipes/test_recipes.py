"""The recipes for an operator, a source and a page, followed literally: one file more, and everything knows it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from streamlit.testing.v1 import AppTest

import engine.operators
import engine.sources
from engine import registry
from engine.aggregates import functions
from engine.aggregates.function import AggregateFunction
from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.examples.from_file import readable
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.running import finished
from engine.script.writing import sql_of
from engine.sql import SqlRejected, pipeline_of, table_of
from storage import Store
from tests.engine.batch_answer import checked, complaints
from tests.ui.conftest import OpenView, open_view, seeded, store, template
from tests.ui.drawn import rows_of
from ui.builder.editing import palette
from ui.forms.spec import fields_of
from ui.runs.manager import RunManager
from ui.shell import navigation
from ui.shell.state import KEY, Opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_view", "seeded", "store", "template"]
HERE = Path(__file__).parent
Add = Callable[[str, str], None]


@pytest.fixture
def add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Add]:
    """Put a file into a package, as if it lay in its folder."""

    def add_(module: str, package: str) -> None:
        folder = tmp_path / package
        folder.mkdir()
        shutil.copy(HERE / f"{module}.py", folder)
        holder = {"operators": engine.operators, "sources": engine.sources}[package]
        monkeypatch.setattr(holder, "__path__", [*holder.__path__, str(folder)])
        forget()

    def forget() -> None:
        for cached in (registry.operators, registry.sources, registry.table_functions):
            cached.cache_clear()

    yield add_
    monkeypatch.undo()
    forget()


# Only base classes, recordings and functions of Python code declare these.
BUILT_IN = {"role", "arrival_in", "recorded_run", "is_python"}


@pytest.mark.parametrize(
    ("contract", "recipe"),
    [(Operator, engine.operators), (Source, engine.sources), (AggregateFunction, functions)],
)
def test_a_recipe_names_everything_that_can_be_declared(contract: type, recipe: ModuleType) -> None:
    declared = {
        name
        for name in {**vars(contract), **contract.__annotations__}
        if not name.startswith(("_", "model_")) and name not in getattr(contract, "model_fields", {})
    }
    fixed = {"group", "ports", "output_ports"} if contract is Source else set()
    assert declared - BUILT_IN - fixed - set(re.findall(r"`(\w+)`", recipe.__doc__ or "")) == set()


def pipeline(delay_ms: int = 0) -> Pipeline:
    """The first number of each window of 4 s below 12 s, of which one comes late."""
    rows = [[1000, "a"], [3000, "b"], [9000, "c"], [2000, "late"], [10000, "d"]]
    given = {
        "columns": [{"name": "ts", "type": "bigint"}, {"name": "x", "type": "string"}],
        "rows": rows,
        "event_time": "ts",
        "watermark_delay_ms": delay_ms,
    }
    return Pipeline.from_dict(
        {
            "nodes": [
                {"id": "given", "operator": "rows", "parameters": given},
                {"id": "first", "operator": "window_first", "parameters": {"keys": [], "size_ms": 4000}},
                {"id": "kept", "operator": "sink", "parameters": {"mode": "append"}},
            ],
            "edges": [{"source": "given", "target": "first"}, {"source": "first", "target": "kept"}],
        }
    )


@pytest.mark.slow
def test_an_operator_is_one_file(add: Add, spark: SparkSession, tmp_path: Path) -> None:
    add("window_first", "operators")
    cls = registry.operators()["window_first"]
    assert cls in palette()["keyed"]
    assert "late_records" in [field.name for field in fields_of(cls) if field.is_rare]
    with finished(pipeline(), spark, tmp_path, epochs=2) as run:
        assert [(row.seq, row.kind, row.x) for row in run.changelog("kept").collect()] == [
            (3, "+I", "a"),
            (6, "+I", "c"),
        ]
    assert not complaints(checked(pipeline(), spark))


@pytest.mark.slow
def test_what_if_and_the_reasons_know_it(add: Add, spark: SparkSession, store: Store, open_view: OpenView) -> None:
    add("window_first", "operators")
    manager = RunManager(store)
    run_id = manager.start(pipeline(), master="local[2]")
    assert manager.wait(run_id, 120)
    (asked,) = store.what_if.operators(run_id)
    assert (asked.node, asked.is_exact, asked.rule.window_ms) == ("first", True, 4000)
    assert [record.seq for record in store.what_if.records(run_id, asked, asked.with_delay(0), 0)] == [4]
    assert store.what_if.losses(run_id, asked).lossless_ms == 5002
    app = open_view("changelog", run=run_id, edge="kept", event=3)
    assert any("the first row of its key in this window" in row[2] for row in rows_of(app, "cascade"))


@pytest.mark.slow
def test_flink_sql_reads_and_writes_it(add: Add, spark: SparkSession, tmp_path: Path) -> None:
    add("window_first", "operators")
    analyzer = TypeRules()
    call = "WINDOW_FIRST(TABLE given, KEYS => DESCRIPTOR(x), SIZE_MS => INTERVAL '4' SECOND)"
    sql = f"SELECT x, window_end FROM TABLE({call})"
    read = pipeline_of(sql, [table_of(pipeline().nodes[0], tmp_path)], analyzer, tmp_path)
    (node,) = (node for node in read.nodes if node.operator == "window_first")
    assert node.parameters == {"keys": ["x"], "size_ms": 4000}
    written = sql_of(read, analyzer, tmp_path).text
    assert "FROM TABLE(WINDOW_FIRST(TABLE given, SIZE_MS => 4000, KEYS => ARRAY['x']))" in written
    with pytest.raises(SqlRejected, match=r"line 1, column \d+: KEYS is not valid JSON: \[oops\."):
        pipeline_of(
            sql.replace("DESCRIPTOR(x)", "'[oops'"), [table_of(pipeline().nodes[0], tmp_path)], analyzer, tmp_path
        )


@pytest.mark.slow
def test_a_source_is_one_file(add: Add, spark: SparkSession, tmp_path: Path) -> None:
    add("countdown", "sources")
    assert registry.sources()["countdown"] in palette()["sources"]
    assert ".csv" in readable()
    document = {
        "nodes": [
            {"id": "down", "operator": "countdown", "parameters": {"start": 3, "event_time": "at_ms"}},
            {"id": "kept", "operator": "sink", "parameters": {"mode": "append"}},
        ],
        "edges": [{"source": "down", "target": "kept"}],
    }
    with finished(Pipeline.from_dict(document), spark, tmp_path) as run:
        assert [row.n for row in run.changelog("kept").collect()] == [3, 2, 1, 0]


def test_a_page_is_a_file_and_a_line(
    store: Store, seeded: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    views = tmp_path / "views"
    shutil.copytree(navigation._VIEWS, views)
    shutil.copy(HERE / "edge_totals.py", views)
    monkeypatch.setattr(navigation, "_VIEWS", views)
    line = navigation.View("edge_totals", "Edges", ":material/route:", navigation.INSPECT)
    monkeypatch.setattr(navigation, "VIEWS", (*navigation.VIEWS, line))
    assert (line.url, line.path.exists()) == ("edge-totals", True)
    app = AppTest.from_file(str(views / "edge_totals.py"), default_timeout=20)
    app.session_state[KEY] = Opened({"run": str(seeded["word_count"])})
    app.run()
    assert not app.exception
    assert rows_of(app, "edges")
