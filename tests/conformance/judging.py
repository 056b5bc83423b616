"""The verdict on a case: equal to Flink, different on purpose because Flink is known to be wrong, or different."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import StudioError
from tests.conformance.case import Case, Record, records
from tests.conformance.comparing import first_difference
from tests.conformance.planning import plan_difference
from tests.conformance.running import Planned, changelog, local_changelog, planned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIFFERENCES = Path(__file__).parent / "differences"
ONE_AND_SEVERAL = (1, 2)
MISSING_BEFORE = ("FLINK-39966", "FLINK-40368")


@dataclass(frozen=True)
class Verdict:
    """The result of a case. text: the difference, empty if equal. known: why the expected changelog is not Flink's."""

    text: str
    known: str = ""


def judge(case: Case, spark: SparkSession, numbers_of_epochs: Sequence[int]) -> Verdict:
    """Run a case once per number of epochs, or locally if there is none, and compare its changelogs and its plan."""
    expected, known = right_answer(case)
    try:
        job = planned(case, spark)
        for how, got in _changelogs(job, spark, numbers_of_epochs):
            found = first_difference(case, expected, got, job.key)
            if found and _only_lacks_update_before(case, got):
                return Verdict("", "Flink 2.3 leaves out the UPDATE_BEFORE of this Top 1")
            if found:
                return Verdict(f"{how}: {found}", known)
    except StudioError as error:
        return Verdict(str(error), known)
    found = plan_difference(job)
    return Verdict("" if found == stated(case).get("plan") else found, known)


def _changelogs(
    job: Planned, spark: SparkSession, numbers_of_epochs: Sequence[int]
) -> Iterator[tuple[str, Sequence[Record]]]:
    if not numbers_of_epochs:
        yield "locally", local_changelog(job, spark)
    for epochs in numbers_of_epochs:
        yield f"in {epochs} epoch{'s' if epochs > 1 else ''}", changelog(job, spark, epochs=epochs)


def _only_lacks_update_before(case: Case, got: Sequence[Record]) -> bool:
    """Whether the case warns of Flink's bug that treats a Top 1 as insert-only, and only the -U records differ."""
    warned = any(bug in warning for warning in case.expected.get("warnings", ()) for bug in MISSING_BEFORE)
    return warned and [one for one in got if one.kind != "-U"] == case.changelog


def right_answer(case: Case) -> tuple[Sequence[Record], str]:
    """Flink's changelog, or ours with the reason if Flink's is known to be wrong."""
    found = stated(case)
    return (records(found["changelog"]), found["reason"]) if "changelog" in found else (case.changelog, "")


def stated(case: Case) -> Mapping[str, Any]:
    """The stated difference of a case: the reason, Flink's changelog, and our changelog or the difference in the plan.

    It does not apply to another case of the same name.
    """
    path = DIFFERENCES / f"{case.name}.json"
    found: Mapping[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found if found and records(found["flink"]) == case.changelog else {}
