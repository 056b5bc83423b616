"""The controls of a live run, from any thread."""

from __future__ import annotations

from engine.contract.live import Control


def test_a_step_that_has_found_nothing_to_do_does_not_outlast_a_pause() -> None:
    control = Control(paused=True)
    control.step()
    assert not control.is_paused
    control.go_on()
    control.pause()
    assert control.is_paused


def test_each_step_is_one_epoch() -> None:
    control = Control()
    control.step()
    control.step()
    control.stepped()
    assert not control.is_paused
    control.stepped()
    assert control.is_paused
