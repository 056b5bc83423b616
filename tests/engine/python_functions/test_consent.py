"""Python code runs only after somebody has allowed exactly this text, wherever a pipeline runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.batch_check.check import check
from engine.errors import RunFailed
from engine.local.preview import first_records
from engine.model.pipeline import Pipeline
from engine.planner import Plan
from engine.python_functions import consent
from engine.python_functions.consent import ALL, ENVIRONMENT, CodeNotAllowed, allow, can_allow, is_allowed
from engine.running import finished
from tests.engine.planning import pipeline_of
from tests.golden.trace import plan_of

CODE = "def f(value):\n    return value * 2"


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of allowed code, as in the app."""
    file = tmp_path / "allowed.txt"
    monkeypatch.setenv(ENVIRONMENT, str(file))
    return file


def doubled() -> Pipeline:
    source = ("rows", {"columns": [{"name": "v", "type": "BIGINT"}], "rows": [[1], [2]]})
    function = ("python_function", {"code": CODE, "arguments": [{"expression": "v"}], "type": "BIGINT"})
    return pipeline_of("t -> double -> out", t=source, double=function, out=("sink", {}))


def test_nothing_is_allowed_until_somebody_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert not is_allowed(CODE)
    assert not can_allow()
    assert "CHANGELOG_STUDIO_PYTHON=all, or run with --allow-python" in str(CodeNotAllowed("double"))
    monkeypatch.setenv(ENVIRONMENT, ALL)
    assert is_allowed(CODE)


def test_one_text_is_allowed_and_no_other(noted: Path) -> None:
    assert not is_allowed(CODE)
    assert "Read it, then allow it in the form of the node." in str(CodeNotAllowed("double"))
    allow(CODE)
    assert is_allowed(CODE)
    assert not is_allowed(CODE + " ")
    assert noted.stat().st_mode & 0o777 == 0o600
    noted.write_bytes(b"\xff\xfe")
    assert not is_allowed(CODE)


def test_what_cannot_be_noted_is_said(noted: Path) -> None:
    noted.mkdir()
    with pytest.raises(consent.PipelineError, match="what is allowed cannot be noted in .*: Is a directory"):
        allow(CODE)


def test_neither_a_run_nor_a_look_nor_a_check_runs_it_before(noted: Path, spark: SparkSession, tmp_path: Path) -> None:
    planned = plan_of(doubled(), spark, tmp_path)
    for does in (_runs, _looks):
        with pytest.raises(CodeNotAllowed) as refused:
            does(planned, spark, tmp_path)
        assert refused.value.node == "double"
    allow(CODE)
    assert [row[-1] for row in _runs(planned, spark, tmp_path)] == [2, 4]
    assert [record.row[-1] for record in first_records(planned, "out", lambda: spark, tmp_path).records] == [2, 4]
    with finished(doubled(), spark, folder=tmp_path) as job:
        recorded = job.output.recorded(planned)
        assert check(planned, spark, recorded).is_equal
        noted.unlink()
        with pytest.raises((CodeNotAllowed, RunFailed), match="is not allowed yet"):
            check(planned, spark, recorded)


def _runs(planned: Plan, spark: SparkSession, folder: Path) -> list[tuple[int, ...]]:
    with finished(planned.pipeline, spark, folder=folder) as job:
        return [tuple(row) for row in job.changelog("out").orderBy("seq").collect()]


def _looks(planned: Plan, spark: SparkSession, folder: Path) -> list[tuple[int, ...]]:
    first_records(planned, "out", lambda: spark, folder)
    return []
