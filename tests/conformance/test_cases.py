"""Cases against Flink's changelog, columns and plan; with `--cases` on Spark in one epoch and in several."""

from __future__ import annotations

import pytest

from tests.conformance.judging import Verdict


@pytest.mark.slow
def test_the_changelog_is_the_one_that_flink_emits(verdict: Verdict) -> None:
    assert not verdict.text, verdict.text
