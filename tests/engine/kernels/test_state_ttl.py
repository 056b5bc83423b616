"""The state TTL option, as Flink writes durations."""

from __future__ import annotations

import pytest

from engine.kernels.state_ttl import OPTION, has_state_ttl


@pytest.mark.parametrize(("value", "is_set"), [("1 h", True), ("36000ms", True), ("0", False), ("0 ms", False)])
def test_a_ttl_above_zero_is_set(value: str, is_set: bool) -> None:
    assert has_state_ttl({OPTION: value}) is is_set


def test_without_the_option_there_is_none() -> None:
    assert not has_state_ttl({})
