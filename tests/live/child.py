"""The command line in a process of its own, which somebody kills. Its tasks run in it, or on Spark.

It runs like `python -m engine`, but is forked from a process that has done the imports.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import IO

from engine.__main__ import main
from engine.runtime.in_process import in_process
from tests.forked import processes

_ROOT = Path(__file__).resolve().parents[2]


class Child:
    """`python -m engine ARGUMENTS`, with its output as streams of text; killed at the end of a `with`, if it runs."""

    def __init__(self, arguments: Sequence[str], *, on_spark: bool) -> None:
        self.stdout, out = _pipe()
        self.stderr, error = _pipe()
        given = (arguments, on_spark, dict(os.environ), out, error)
        self._process = processes().Process(target=_command_line, args=given)
        self._process.start()
        for written in (out, error):
            written.close()

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._process.join()
        self.stdout.close()
        self.stderr.close()

    def interrupt(self) -> None:
        """As Ctrl-C does."""
        assert self._process.pid is not None
        os.kill(self._process.pid, signal.SIGINT)

    def kill(self) -> None:
        """End it without a word."""
        self._process.kill()

    def wait(self, limit_s: float) -> int | None:
        """Its exit status, as soon as it has ended; None if it runs on."""
        self._process.join(limit_s)
        return self._process.exitcode

    def rest(self, limit_s: float) -> tuple[int | None, str]:
        """Its exit status, and what it still says on stderr. It is killed if it runs on."""
        timer = threading.Timer(limit_s, self.kill)
        timer.start()
        # Otherwise it would wait for somebody to read that.
        reading = threading.Thread(target=self.stdout.read)
        reading.start()
        said = self.stderr.read()
        reading.join()
        timer.cancel()
        return self.wait(limit_s), said


def _pipe() -> tuple[IO[str], Connection]:
    reading, writing = processes().Pipe(duplex=False)
    with reading:
        return os.fdopen(os.dup(reading.fileno())), writing


def _command_line(
    arguments: Sequence[str], on_spark: bool, environ: Mapping[str, str], out: Connection, error: Connection
) -> None:
    for standard, stream in ((sys.stdout, out), (sys.stderr, error)):
        os.dup2(stream.fileno(), standard.fileno())
        stream.close()
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(_ROOT)
    with nullcontext() if on_spark else in_process():
        sys.exit(main(arguments))
