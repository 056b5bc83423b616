"""Spark for the pages: the first opened page starts it in the background, so that no page has to wait for it.

It is the engine that can read this machine's files (`ui.engines.known.home`), whatever engine runs use; another engine
starts with the first run on it.

A page asks `gate().status`; nothing that it plans or checks needs Spark. A run gets its session in its own thread, and
may wait.
"""

from __future__ import annotations

import subprocess
import threading
import time
from enum import Enum
from functools import cache
from typing import Any, Final

from engine.errors import EngineUnavailable, StudioError
from engine.runtime.archiving import make_in_background
from engine.runtime.rehearsal import rehearse
from engine.spark.session import get_spark, server_of
from ui.engines.known import home, without_tokens
from ui.shell.log import app_log

LOG: Final = app_log()
ARCHIVE_AFTER_S: Final = 60


_idle: Final = threading.Event()
_idle.set()
_wanted: Final = threading.Event()


def without_rehearsal() -> None:
    """Skip a rehearsal that has not begun yet, because a run is about to start and has the same effect."""
    _wanted.set()


def wait_for_rehearsal(cancel: threading.Event, patience_s: float = 15) -> None:
    """Wait for the end of a running rehearsal: a first run would take longer beside it than after it."""
    end = time.monotonic() + patience_s
    while not (_idle.wait(0.05) or cancel.is_set() or time.monotonic() > end):
        pass


class GateStatus(Enum):
    """The progress of Spark's start."""

    STARTING = "starting"
    READY = "ready"
    FAILED = "failed"


class EngineGate:
    """One Spark session for the process. `error` says why it could not start."""

    def __init__(self, master: str) -> None:
        self.master = master
        self.error: EngineUnavailable | None = None
        self._done = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._archiving: subprocess.Popen[bytes] | None = None

    @property
    def status(self) -> GateStatus:
        """The progress of Spark's start; this does not block."""
        if not self._done.is_set():
            return GateStatus.STARTING
        return GateStatus.FAILED if self.error else GateStatus.READY

    def warm_up(self) -> None:
        """Start Spark in the background, unless it was started already."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._start, name="spark-warm-up", daemon=True)
                self._thread.start()

    def spark(self) -> Any:
        """The Spark session; waits until it is there. Raises EngineUnavailable."""
        self.warm_up()
        self._done.wait()
        if self.error:
            raise self.error
        return get_spark(self.master)

    def retry(self) -> None:
        """Try again after a failure, say once Java is installed."""
        with self._lock:
            if self.status is GateStatus.FAILED:
                self.error, self._thread = None, None
                self._done.clear()
        self.warm_up()

    def _start(self) -> None:
        if self._started() and self._rehearsed():
            if server_of(get_spark(self.master)) is None:
                # The server is not ours: this machine has no JVM whose start an archive would speed up.
                return
            # By then the user has begun to work, or has closed the app.
            time.sleep(ARCHIVE_AFTER_S)
            self._archiving = make_in_background()

    def _started(self) -> bool:
        try:
            get_spark(self.master)
            # The first analysis loads classes for a second; better now than while a user types.
            get_spark(self.master).createDataFrame([], "a BIGINT").selectExpr("a + 1").schema  # noqa: B018
        except EngineUnavailable as error:
            self.error = error
        except Exception as error:
            LOG.exception("Spark did not start")
            sentence = f"Spark does not start on {self.master.partition(';')[0]}: {without_tokens(str(error))}"
            self.error = EngineUnavailable(sentence)
        finally:
            self._done.set()
        return self.error is None

    def _rehearsed(self) -> bool:
        """False if the rehearsal failed. A server that was used before needs no rehearsal."""
        server = server_of(get_spark(self.master))
        if _wanted.is_set() or server is None or not server.is_new:
            return True
        _idle.clear()
        try:
            rehearse(get_spark(self.master))
        except StudioError:
            # The first run is slower then, nothing else. The error of a run is reported with that run.
            LOG.exception("the rehearsal failed")
            return False
        finally:
            _idle.set()
        return True


def gate() -> EngineGate:
    """The process's gate, warming up from the first call on."""
    spark_gate = _gate(home())
    spark_gate.warm_up()
    return spark_gate


@cache
def _gate(master: str) -> EngineGate:
    return EngineGate(master)
