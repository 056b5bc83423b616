"""A hundred malformed inputs through the command line; `python -m tests.bench.attack` runs thousands."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.attacking import complaint
from tests.malformed import KINDS, malformed

SEED = 7
# Inputs that are only explained are quick; only a few are run.
RUNS = 8


def test_a_hundred_malformed_inputs_are_sentences_with_the_right_status(spark: SparkSession) -> None:
    assert spark is not None
    runs = taken = 0
    complaints = []
    for number in range(1000):
        given = malformed(SEED, number)
        runs += given.arguments[0] == "run"
        if given.arguments[0] == "run" and runs > RUNS:
            continue
        if (said := complaint(given)) is not None:
            complaints.append(f"seed {SEED}, number {number} ({given.kind}): {said}")
        taken += 1
        if taken == 100:
            break
    assert taken == 100
    assert complaints == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_follows_from_its_number(kind: str) -> None:
    assert malformed(1, 3, [kind]) == malformed(1, 3, [kind])
    assert malformed(1, 3, [kind]) != malformed(2, 3, [kind])
