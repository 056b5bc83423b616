"""Tasks in the studio's own process: their reports, and their errors as those of a worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from engine.runtime.in_process import TaskFailed
from engine.runtime.keyed.states import _Near
from engine.runtime.reports import Report, run_each, task_name
from engine.spark.failures import NodeFailed, failing_node, reason_of


def reporting() -> Iterator[Report]:
    yield {"file": task_name()}


def failing() -> Iterator[Report]:
    yield from reporting()
    message = "month must be in 1..12"
    node = "counts"
    raise NodeFailed(node, ValueError(message))


def test_tasks_of_few_records_run_without_a_session() -> None:
    no_session: Any = None
    assert [report["file"] for report in run_each(no_session, [reporting, reporting], here=True)] == [
        "00000-0",
        "00001-0",
    ]


def test_an_error_names_its_node_as_that_of_a_worker() -> None:
    no_session: Any = None
    with pytest.raises(TaskFailed) as raised:
        run_each(no_session, [failing], here=True)
    assert failing_node(raised.value) == "counts"
    assert reason_of(raised.value) == "month must be in 1..12"


def test_keys_of_a_state_are_found_by_their_hashes() -> None:
    hashes = np.array([1, 1 << 40, 5, 1, (1 << 40) + 1, 1 << 63], np.uint64)
    wanted = np.array([1, 7, 1 << 40, 1 << 63], np.uint64)
    rows, places = _Near.of(wanted).among(hashes)
    assert (rows.tolist(), sorted(places.tolist())) == ([0, 1, 3, 5], [0, 0, 2, 3])
    assert [found.tolist() for found in _Near.of(wanted[:1]).among(hashes[1:3])] == [[], []]
