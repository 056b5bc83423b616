"""Answers are prepared in the background, one run after the other, whatever becomes of one of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.database.connection import Database
from storage.errors import UnknownRun
from storage.recording.preparation import Preparation


@pytest.mark.parametrize("error", [UnknownRun(1), KeyError("a defect")], ids=["expected", "unexpected"])
def test_an_error_in_one_run_does_not_end_the_preparation_of_others(
    tmp_path: Path, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    prepared = []

    def steps(run_id: int) -> Iterator[None]:
        if run_id == 1:
            raise error
        prepared.append(run_id)
        yield

    preparation = Preparation(Database(tmp_path / "studio.duckdb"), steps)
    for run_id in (1, 2):
        preparation.ask(run_id)
    preparation.wait()
    preparation.stop()
    assert prepared == [2]
    assert [record.getMessage() for record in caplog.records] == ["run 1: not prepared"] * isinstance(error, KeyError)
