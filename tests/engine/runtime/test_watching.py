"""An expression that never ends: the run and the preview end with a sentence, and the next run is fine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.planning import pipeline_of
from tests.python_child import run_python

# A separate server, since that of the other tests must not be ended.
PROGRAM = """
import os
from pathlib import Path
from engine.__main__ import main
from engine.errors import StudioError
from engine.local.preview import first_records
from engine.model.pipeline import Pipeline
from engine.planner import plan
from engine.runtime import record_search, record_waits
from engine.spark import cancelling, session, watching
from engine.expressions.analyzer import TypeRules

cancelling.PATIENCE_S, record_waits.RECORDS_S, watching.LOOK_S, record_search.RECORD_S = 1.0, 3.0, 3.0, 3.0
record_search.SEARCH_S = 180.0
folder = Path(os.environ["FOLDER"])
of_pipeline = [str(folder / "p.json"), "--engine", "local[2]", "--store", str(folder / "s.duckdb")]
for name in ("keyed", "computed"):
    of_pipeline[0] = str(folder / f"{name}.json")
    print(main(["run", *of_pipeline]))
of_pipeline[0] = str(folder / "p.json")
spark = session.get_spark("local[2]")
server = session.server_of(spark)
planned = plan(Pipeline.from_json((folder / "p.json").read_text()), TypeRules(), folder)
try:
    first_records(planned, "matched", lambda: spark, folder)
except StudioError as error:
    print(error)
print("ended" if server.was_given_up() else "goes on")
# A cold engine of a busy machine takes longer for its first records.
record_waits.RECORDS_S = 180.0
(folder / "words.csv").write_text("word\\naab\\n")
print(main(["run", *of_pipeline]))
session.server_of(session.get_spark("local[2]")).close(20)
"""


# It tries every way to part a thousand a among eight a*.
NEVER = "word RLIKE '^a*a*a*a*a*a*a*a*b'"


@pytest.mark.slow
def test_a_regular_expression_that_never_ends_ends_with_a_sentence(tmp_path: Path) -> None:
    """In the key of an aggregate, in a computed column of a source, and in the condition of a preview."""
    (tmp_path / "words.csv").write_text("word\nab\n" + "a" * 1000 + "\n")
    grouped = {"group_by": [{"name": "found", "expression": NEVER}], "aggregates": [{"function": "COUNT", "name": "n"}]}
    computed = {"path": "words.csv", "computed": [{"name": "found", "expression": NEVER}]}
    for name, given, matched in (
        ("p", {"path": "words.csv"}, ("filter", {"condition": NEVER})),
        ("keyed", {"path": "words.csv"}, ("aggregate", grouped)),
        ("computed", computed, ("filter", {"condition": "found"})),
    ):
        parts = {"words": ("csv", given), "matched": matched, "sink": ("sink", {})}
        (tmp_path / f"{name}.json").write_text(pipeline_of("words -> matched -> sink", **parts).to_json())
    environ = {**os.environ, "CHANGELOG_STUDIO_SERVERS": str(tmp_path / "servers"), "FOLDER": str(tmp_path)}
    said = run_python(PROGRAM, environ)
    keyed, computed, preview, engine, *rows, last = said.stdout.splitlines()
    assert (keyed, computed, last) == ("1", "1", "0"), (said.stdout, said.stderr)
    assert preview.startswith("the answer for the records of matched took more than 3 s: an expression"), (
        said.stdout,
        said.stderr,
    )
    assert engine == "ended", "its core would be lost"
    assert any("aab" in row for row in rows)
    ended = [line for line in said.stderr.splitlines() if "works for more than 3 s on" in line]
    assert [line.partition(", and may")[0] for line in ended] == [
        "matched: an expression works for more than 3 s on event 2",
        "words: an expression works for more than 3 s on line 2 of words.csv or line 3 of words.csv",
    ], said.stderr
