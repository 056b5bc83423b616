"""The options of a pipeline: supported values, and errors for others."""

from __future__ import annotations

import pytest

from engine.contract.bundling import MiniBatch, mini_batch
from engine.errors import PipelineError
from engine.model.options import OPTIONS, STATE_TTL, check_options, has_effect, has_state_ttl, time_ms

ON = {"table.exec.mini-batch.enabled": "true"}


@pytest.mark.parametrize(("value", "is_set"), [("1 h", True), ("36000ms", True), ("0", False), ("0 ms", False)])
def test_a_ttl_above_zero_is_set(value: str, is_set: bool) -> None:
    check_options({STATE_TTL.name: value})
    assert has_state_ttl({STATE_TTL.name: value}) is is_set


def test_what_is_not_set_is_as_flink_has_it() -> None:
    check_options({option.name: option.default for option in OPTIONS.values()})
    assert not has_state_ttl({})
    assert mini_batch({}) is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"table.exec.minibatch.enabled": "true"},
            "options: 'table.exec.minibatch.enabled' is not an option. Did you mean table.exec.mini-batch.enabled?",
        ),
        ({"parallelism": "4"}, "'parallelism' is not an option. Did you mean parallelism.default?"),
        ({"what": "4"}, f"'what' is not an option. Available: {', '.join(OPTIONS)}."),
        ({"table.exec.disabled-operator": "x"}, "Did you mean table.exec.disabled-operators?"),
        ({"execution.runtime-mode": "BATCH"}, "would change results. Use STREAMING, or leave it out."),
        ({"table.exec.mini-batch.enabled": "yes"}, "table.exec.mini-batch.enabled is true or false, not 'yes'."),
        ({"table.exec.mini-batch.size": "0"}, "is a number of records, -1 where there is no limit, not '0'."),
        ({"table.exec.state.ttl": "1 fortnight"}, "table.exec.state.ttl is a time such as 5 s, not '1 fortnight'."),
        ({"table.exec.state.ttl": "999999999999 d"}, "table.exec.state.ttl is a time such as 5 s, not"),
        ({"table.optimizer.agg-phase-strategy": "three"}, "is AUTO, ONE_PHASE or TWO_PHASE, not 'three'."),
    ],
)
def test_a_wrong_option_is_named_with_what_would_be_right(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(PipelineError) as raised:
        check_options(options)
    assert sentence in str(raised.value)


def test_the_longest_time_of_flink_is_a_time() -> None:
    for text in ("9223372036854775807 ms", "1152921504606846976", "9223372036854775 s"):
        check_options({STATE_TTL.name: text})
        assert time_ms({STATE_TTL.name: text}, STATE_TTL) == (1 << 60) - 1, "a time of the epoch can be added"


def test_what_changes_no_result_is_known_and_has_no_effect() -> None:
    known = ("table.exec.rank.topn-cache-size", "state.backend.type", "taskmanager.numberOfTaskSlots")
    assert not any(has_effect(name, "1") for name in known)
    assert not has_effect("execution.runtime-mode", "streaming")
    assert has_effect(STATE_TTL.name, "1 h")


def test_mini_batch_wants_its_two_numbers() -> None:
    size, latency = {"table.exec.mini-batch.size": "3"}, {"table.exec.mini-batch.allow-latency": "5 min"}
    assert mini_batch(ON | size | latency) == MiniBatch(3, 300_000)
    assert mini_batch(size | latency) is None
    for given, missing in ((latency, "mini-batch.size"), (size, "allow-latency")):
        with pytest.raises(PipelineError, match=missing):
            mini_batch(ON | given)
