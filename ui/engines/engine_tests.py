"""Tests of engines in the background: one at a time per engine, independent of any session."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from engine.spark.engines import Engine
from ui.engines.known import without_tokens
from ui.shell.log import app_log

if TYPE_CHECKING:
    from engine.spark.probing import Finding

TOPICS: Final = ("reach", "spark", "python", "compiler", "cores", "workspace")
LOG: Final = app_log()


@dataclass
class EngineTest:
    """A test of an engine with its settings at that time. findings grow while it runs. session: opened by the test."""

    engine: Engine
    findings: list[Finding] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    is_stopped: bool = False
    session: Any = None

    @property
    def seconds(self) -> float:
        """The duration so far, or in total once it has ended."""
        return (self.ended or time.monotonic()) - self.started

    @property
    def next_topic(self) -> str:
        """The topic that is tested now."""
        done = {finding.topic for finding in self.findings}
        return next((topic for topic in TOPICS if topic not in done), TOPICS[-1])


def _probe(test: EngineTest) -> Iterator[Finding]:
    from engine.spark.probing import probe

    return probe(test.engine, lambda session: setattr(test, "session", session))


class EngineTests:
    """The last test of every engine, by its name."""

    def __init__(self, probe: Callable[[EngineTest], Iterator[Finding]] = _probe) -> None:
        self._probe = probe
        self._lock = threading.Lock()
        self._tests: dict[str, EngineTest] = {}

    def start(self, engine: Engine) -> EngineTest:
        """Start a test of an engine, or return the one that is running."""
        with self._lock:
            going_on = self._of(engine)
            if going_on is not None and going_on.ended is None:
                return going_on
            test = self._tests[engine.name] = EngineTest(engine)
        threading.Thread(target=self._go_on, args=(test,), name="changelog-studio-test", daemon=True).start()
        return test

    def of(self, engine: Engine) -> EngineTest | None:
        """The last test of an engine; None if it was not tested since its last change."""
        with self._lock:
            return self._of(engine)

    def stop(self, engine: Engine) -> None:
        """Stop a running test; its findings stay."""
        from engine.spark.session import close

        with self._lock:
            test = self._of(engine)
            if test is None or test.ended is not None:
                return
            test.is_stopped, test.ended = True, time.monotonic()
        if test.session is not None:
            close(test.session)

    def forget(self, name: str) -> None:
        """Remove the test of an engine."""
        with self._lock:
            self._tests.pop(name, None)

    def _of(self, engine: Engine) -> EngineTest | None:
        test = self._tests.get(engine.name)
        return test if test is not None and test.engine == engine else None

    def _go_on(self, test: EngineTest) -> None:
        from engine.spark.probing import Finding, Fit

        try:
            for finding in self._probe(test):
                if test.is_stopped:
                    return
                sentence, advice = without_tokens(finding.sentence), without_tokens(finding.advice)
                test.findings.append(Finding(finding.topic, finding.fit, sentence, advice))
        except Exception as error:
            if test.is_stopped:
                return
            LOG.exception("the test of the engine %s failed", test.engine.name)
            reason = " ".join(without_tokens(str(error)).split())[:300] or type(error).__name__
            sentence = f"The test broke off: {reason}"
            test.findings.append(Finding(test.next_topic, Fit.BROKEN, sentence, "The app's log has the details."))
        finally:
            test.ended = test.ended or time.monotonic()


@cache
def engine_tests() -> EngineTests:
    """The tests of this process."""
    return EngineTests()
