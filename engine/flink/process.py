"""Flink's interpreter as a process of its own, which runs jobs in one JVM."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any, Final

from engine.errors import EngineUnavailable
from engine.flink.values import Records

IDLE_S: Final = 600.0
"""A process without a question for this long is ended."""
_INSIDE: Final = Path(__file__).parent / "inside.py"
# C1 and the serial collector: rows are few, and the machine is shared.
_JVM: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx2g"


class FlinkProcess:
    """A process that answers batches of jobs (`engine.flink.inside`).

    python: an interpreter with apache-flink. jvm: the options of its JVM.
    """

    def __init__(self, python: str, jvm: str = _JVM) -> None:
        try:
            self._process = subprocess.Popen(
                [python, str(_INSIDE)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "JVM_ARGS": jvm},
                # Ctrl-C is for this process, which ends that one.
                start_new_session=True,
            )
        except OSError as error:
            message = f"Flink's interpreter {python} cannot be started: {error.strerror}."
            raise EngineUnavailable(message) from error

    def ask(self, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answer to each job. Raises EngineUnavailable if the process has ended."""
        if not jobs:
            return []
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        with suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(list(jobs)) + "\n")
            self._process.stdin.flush()
            # Java's own output may begin with a bracket, too.
            while (line := self._process.stdout.readline()) and not line.startswith('[{"'):
                pass
        if not line:
            message = "Flink has ended. It needs Java 11 or newer, and apache-flink in its interpreter."
            raise EngineUnavailable(message)
        answers: list[dict[str, Any]] = json.loads(line)
        return answers

    def answers(self, jobs: Sequence[dict[str, Any]]) -> list[Records | str]:
        """The changelog of each job, or Flink's error if it rejects the job."""
        return [
            answer["error"] if "error" in answer else [tuple(row) for row in answer["changelog"]]
            for answer in self.ask(jobs)
        ]

    def close(self) -> None:
        """End the process, and its JVM with it."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self.kill()
        self._close_output()

    def kill(self) -> None:
        """End the process at once, also while it answers."""
        with suppress(OSError):
            os.killpg(self._process.pid, 9)
        self._process.wait()

    def _close_output(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.close()


class Session:
    """One process for all questions of this one: started by the first, ended when idle. One question at a time."""

    def __init__(self, idle_s: float = IDLE_S) -> None:
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._process: FlinkProcess | None = None
        self._python = ""
        self._asked = 0.0

    @property
    def is_running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    def ask(self, python: str, job: dict[str, Any]) -> dict[str, Any]:
        """The answer to a job. Raises EngineUnavailable."""
        with self._lock:
            process = self._process
            if process is None or python != self._python:
                self._end()
                process = self._process = FlinkProcess(python)
                self._python = python
            try:
                (answer,) = process.ask([job])
            except EngineUnavailable:
                self._end()
                raise
            self._asked = monotonic()
        timer = threading.Timer(self._idle_s, self._end_if_idle)
        timer.daemon = True
        timer.start()
        return answer

    def cancel(self) -> None:
        """End the process also while it answers; its question then fails."""
        if (process := self._process) is not None:
            process.kill()
        with self._lock:
            self._end()

    def _end_if_idle(self) -> None:
        with self._lock:
            if monotonic() - self._asked >= self._idle_s:
                self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


SESSION: Final = Session()
