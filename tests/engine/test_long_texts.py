"""A text of thousands of characters, wherever people give one: a sentence of a length that can be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.errors import EngineUnavailable, SourceError, StudioError, shown
from engine.model.pipeline import Edge, Node, Pipeline
from engine.planner import plan
from engine.script import script_of
from engine.spark.engines import engine_at
from storage.errors import QueryFailed, StoreError
from tests.engine.planning import KnownTypes
from tests.engine.script.scripts import whole

LONG = "h" * 5000
ROWS = {"columns": [{"name": "k", "type": "STRING"}], "rows": [["a"]]}
SERVER = {"host": LONG, "database": "d", "table_name": "t", "user": "u"}
KAFKA = {"topic": "t", "columns": [{"name": "k", "type": "STRING"}]}
CSV = {"columns": [{"name": "k", "type": "STRING"}]}


def source(operator: str, **parameters: Any) -> Callable[[], object]:
    pipeline = Pipeline(nodes=(Node(id="s", operator=operator, parameters=parameters),))
    return lambda: plan(pipeline, KnownTypes(), Path())


def planned(operator: str, **parameters: Any) -> Callable[[], object]:
    nodes = (Node(id="a", operator="rows", parameters=ROWS), Node(id="f", operator=operator, parameters=parameters))
    pipeline = Pipeline(nodes=nodes, edges=(Edge(source="a", target="f"),))
    return lambda: plan(pipeline, KnownTypes(), Path())


def script(text: str) -> Callable[[], object]:
    return lambda: whole(script_of(text, KnownTypes(), Path()))


TEXTS: dict[str, Callable[[], object]] = {
    "a host of PostgreSQL": source("postgres", **SERVER),
    "a host of MySQL": source("mysql", **SERVER),
    "a host of changes": source("postgres_cdc", **SERVER),
    "a broker": source("kafka", **KAFKA, bootstrap_servers=f"{LONG}:9092"),
    "a host of a web file": source("csv", path=f"https://{LONG}/a.csv", **CSV),
    "a file": source("csv", path=f"{LONG}/a.csv", **CSV),
    "an engine": lambda: engine_at(f"sc://{LONG}:15002"),
    "an engine of many labels": lambda: engine_at(f"sc://{'h.' * 2500}:15002"),
    "a cluster": lambda: engine_at(f"spark://good:7077,{LONG}:7077"),
    "no engine": lambda: engine_at(LONG),
    "an operator": planned(LONG),
    "a column": planned("filter", condition=f"{LONG} = 'a'"),
    "a text without an end": planned("filter", condition=f"k = '{LONG}"),
    "a function": planned("filter", condition=f"{LONG}(k)"),
    "a name": planned("deduplicate", keys=[LONG]),
    "a table": script(f"SELECT * FROM {LONG}"),
    "a type": script(f"CREATE TABLE t (k {LONG}) WITH ('connector' = 'datagen');"),
    "an option": script(f"CREATE TABLE t (k STRING) WITH ('connector' = 'datagen', '{LONG}' = 'a');"),
    "words": script(f"SELECT {'a b ' * 5000} FROM t"),
}


def test_a_long_text_is_cut_where_a_note_of_a_script_repeats_it() -> None:
    [note] = script_of(f"CREATE TABLE t (k STRING) WITH ('connector' = '{LONG}');", KnownTypes(), Path()).warnings
    assert "hhh" in note
    assert len(note) < 1000


@pytest.mark.parametrize("name", TEXTS)
def test_a_long_text_is_cut_where_a_sentence_repeats_it(name: str) -> None:
    with pytest.raises(StudioError) as caught:
        TEXTS[name]()
    assert len(str(caught.value)) < 1000
    assert len(caught.value.sentence) < 1000


def test_a_host_of_thousands_of_characters_is_no_host() -> None:
    with pytest.raises(SourceError, match=r"host: 'h+ \.\.\. h+' is not a host name. Correct it."):
        TEXTS["a host of PostgreSQL"]()
    with pytest.raises(EngineUnavailable, match=r"^sc://h+ \.\.\. h+:15002 is not an engine: write local\[2\]"):
        TEXTS["an engine"]()


def test_sentences_of_the_store_are_cut_too() -> None:
    error: StoreError = QueryFailed(f'Table "{LONG}" does not exist')
    assert len(str(error)) < 300
    assert len(shown("word " * 5000)) <= 2000
    plain = "unknown column 'q'. Available: k, v."
    assert shown(plain) == plain
