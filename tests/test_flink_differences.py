"""`engine/FLINK.md` tells what the conformance cases show."""

from __future__ import annotations

import json
import re
from pathlib import Path

CONFORMANCE = Path(__file__).parent / "conformance"
TEXT = (Path(__file__).parents[1] / "engine" / "FLINK.md").read_text(encoding="utf-8")


def test_every_difference_of_a_case_is_in_the_table_and_names_the_case() -> None:
    named = re.findall(r"\(case `(\w+)`\) \|$", TEXT, re.MULTILINE)
    assert sorted(named) == sorted(file.stem for file in (CONFORMANCE / "differences").glob("*.json"))


def test_the_number_of_jobs_is_that_of_the_cases() -> None:
    cases = [file for file in (CONFORMANCE / "cases").glob("*.json") if not file.name.endswith(".expected.json")]
    assert f"runs {len(cases)} jobs" in TEXT


def test_the_queries_of_nexmark_that_are_told_to_run_are_cases() -> None:
    run = {int(file.stem.removeprefix("nexmark_q")) for file in (CONFORMANCE / "cases").glob("nexmark_q*[0-9].json")}
    refused = {int(number) for number in re.findall(r"^\| q(\d+) \|", TEXT, re.MULTILINE)}
    assert f"queries {len(run)} run as they stand" in TEXT
    assert not run & refused
    assert run | refused == set(range(24))
    assert all(json.loads((CONFORMANCE / "cases" / f"nexmark_q{number}.json").read_text()) for number in run)
