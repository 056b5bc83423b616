"""What expiry did, from the record that met expired state down to the sink, reckoned by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.model.changelog import SYMBOLS
from engine.runtime import run as run_plan
from engine.runtime.in_process import in_process
from engine.spark.run_files import LocalFiles
from tests.engine.planning import pipeline_of, rows
from tests.golden.trace import plan_of
from ui.inspect.expiry_outcomes import expiry_outcome
from ui.shell import workspace

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from storage import Store

COUNT = {"function": "COUNT", "name": "n"}
OFTEN = {"function": "COUNT", "name": "often"}
# The TTL is 30 ms, and the clock is the event time.
#
#   event  word  ms  the word's count               how often each count occurs
#   1      a      0  a 1, until 30                  1: 1, until 30
#   2      b     10  b 1, until 40                  1: 2, until 40
#   3      a     20  a 2, until 50                  1: 1 and 2: 1, both until 50
#   4      b     45  b begins again, until 75       1: 2, until 75
#   5      a     60  a begins again, until 90       1: 3, until 90
#   6      a     65  a 2, until 95                  1: 2; 2 begins again, as it went at 50
WORDS = [["a", 0], ["b", 10], ["a", 20], ["b", 45], ["a", 60], ["a", 65]]
SINK = """
1 +I 1 1
2 -U 1 1
2 +U 1 2
3 -U 1 2
3 +U 1 1
3 +I 2 1
4 -U 1 1
4 +U 1 2
5 -U 1 2
5 +U 1 3
6 -U 1 3
6 +U 1 2
6 +I 2 1
"""
MET = [("counts", 4, 10, 40, 45), ("counts", 5, 20, 50, 60), ("often", 6, 20, 50, 65)]
"""The operator, the event, when the entry was written, when it went, and the clock."""
OUTCOMES = {
    4: (["+I b 1"], ["-U b 1", "+U b 2"]),
    5: (["+I a 1"], ["-U a 2", "+U a 3"]),
    6: (["+I 2 1"], ["-U 2 1", "+U 2 2"]),
}
"""What came out for the record, and what would have if its operator had forgotten nothing."""


def test_a_word_that_begins_again_is_followed_to_the_sink(store: Store, spark: SparkSession, tmp_path: Path) -> None:
    pipeline = pipeline_of(
        "words -> counts -> often -> out",
        words=rows("word string, at bigint", rows=WORDS, event_time="at"),
        counts=("aggregate", {"group_by": ["word"], "aggregates": [COUNT]}),
        often=("aggregate", {"group_by": ["n"], "aggregates": [OFTEN]}),
        out=("sink", {"mode": "changelog"}),
    ).model_copy(update={"options": {"table.exec.state.ttl": "30 ms"}})
    kept = store.runs.create("words", pipeline.to_json(), engine="local[1]")
    with in_process():
        run_plan(
            plan_of(pipeline, spark, tmp_path),
            spark=spark,
            recorder=store.record(kept.run_id),
            folder=workspace.folder(),
            files=LocalFiles(tmp_path / "run"),
        )
    run = store.runs.get(kept.run_id)
    sink = store.changelog.page(run.run_id, "out").records
    assert [" ".join(map(str, (each.seq, SYMBOLS[each.kind], *each.values))) for each in sink] == SINK.split("\n")[1:-1]
    met = store.expired_records.page(run.run_id).records
    assert [(each.node, each.seq, each.written_ms, each.expired_ms, each.now_ms) for each in met] == MET
    assert {each.entries for each in met} == {1}
    for each in met:
        found = expiry_outcome(store, run, each, lambda: spark)
        told = tuple(
            [" ".join(map(str, (SYMBOLS[kind], *values))) for kind, values in side]
            for side in (found.emitted, found.otherwise)
        )
        assert told == OUTCOMES[each.seq]
