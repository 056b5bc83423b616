"""Free names: the first number that is not taken, in any case."""

from __future__ import annotations

from engine.model.free_names import free_id, free_name


def test_a_taken_name_gets_the_first_free_number() -> None:
    assert free_name("k", ["a"]) == "k"
    assert free_name("k", ["k"]) == "k0"
    assert free_name("k", ["k", "k0"]) == "k1"


def test_a_taken_id_gets_the_first_free_number_from_2() -> None:
    assert free_id("sink", []) == "sink"
    assert free_id("sink", ["sink", "sink_2"]) == "sink_3"
    assert free_id("t used", ["t used"], " ") == "t used 2"


def test_names_that_differ_only_in_case_are_taken() -> None:
    assert free_name("K", ["k", "K0"]) == "K1"
    assert free_id("Sink", ["sink", "SINK_2"]) == "Sink_3"
