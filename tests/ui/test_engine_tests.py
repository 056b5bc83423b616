"""Tests of engines in the background: findings grow, and are kept when the user leaves the page."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import pytest

from engine.spark.engines import Engine, save_engine
from engine.spark.probing import Finding, Fit
from ui.engines.engine_tests import EngineTest, EngineTests

ENGINE = Engine("far", "sc://host:9", token="s3cret")
GOOD = Finding("reach", Fit.GOOD, "Connected.")


def wait_for(test: EngineTest) -> None:
    end = time.monotonic() + 10
    while test.ended is None and time.monotonic() < end:
        time.sleep(0.01)
    assert test.ended is not None


class HeldProbe:
    """Finds one thing, and another one once it may go on."""

    def __init__(self, last: Finding) -> None:
        self.has_found, self.go_on = threading.Event(), threading.Event()
        self.last = last

    def __call__(self, test: EngineTest) -> Iterator[Finding]:
        yield GOOD
        self.has_found.set()
        self.go_on.wait(10)
        yield self.last


def test_findings_are_there_one_after_the_other_while_the_test_goes_on() -> None:
    probe = HeldProbe(Finding("spark", Fit.DOUBTFUL, "Older.", "Update it."))
    tests = EngineTests(probe)
    test = tests.start(ENGINE)
    assert probe.has_found.wait(10)
    assert (test.findings, test.ended, test.next_topic) == ([GOOD], None, "spark")
    assert tests.start(ENGINE) is test
    probe.go_on.set()
    wait_for(test)
    assert [finding.topic for finding in test.findings] == ["reach", "spark"]
    assert tests.of(ENGINE) is test


def test_an_engine_that_was_changed_has_not_been_tested() -> None:
    tests = EngineTests(lambda engine: iter([GOOD]))
    wait_for(tests.start(ENGINE))
    assert tests.of(Engine("far", "sc://host:9", token="other")) is None
    tests.forget("far")
    assert tests.of(ENGINE) is None


def test_a_test_that_breaks_off_is_a_finding_without_its_token(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_engine(ENGINE)

    def probe(test: EngineTest) -> Iterator[Finding]:
        yield GOOD
        message = f"lost {test.engine.url}"
        raise RuntimeError(message)

    with caplog.at_level(logging.ERROR):
        test = EngineTests(probe).start(ENGINE)
        wait_for(test)
    last = test.findings[-1]
    assert (last.topic, last.fit) == ("spark", Fit.BROKEN)
    assert last.sentence.startswith("The test broke off: lost sc://host:9/;token=…;")


def test_a_test_is_stopped_with_what_it_has_found() -> None:
    probe = HeldProbe(Finding("spark", Fit.GOOD, "Too late."))
    tests = EngineTests(probe)
    test = tests.start(ENGINE)
    assert probe.has_found.wait(10)
    tests.stop(ENGINE)
    assert (test.findings, test.is_stopped) == ([GOOD], True)
    assert test.ended is not None
    again = tests.start(ENGINE)
    assert again is not test
    probe.go_on.set()
    wait_for(again)
    assert test.findings == [GOOD]
