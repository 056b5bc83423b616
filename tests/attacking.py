"""Whether the command line takes a malformed input as it should: a sentence and the right status, in time."""

from __future__ import annotations

import io
import os
import re
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Final

from engine.__main__ import main
from tests.malformed import Malformed

LIMIT_S: Final = 60
ENGINE: Final = "local[2]"
# What no user should see.
_NOISE: Final = re.compile(
    r"Traceback|^  File \"|an unexpected error occurred|\bjava\.\w|org\.apache|py4j|\"ts\":|[gG]rpc|Exception ignored|"
    r"<[\w.]+ object at",
    re.MULTILINE,
)


class _Late(BaseException):
    """It took too long."""


def complaint(given: Malformed) -> str | None:
    """What is wrong with how it was taken, or None. Runs in the current process, in a folder of its own."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="attack-") as name:
        for file, data in given.files.items():
            (Path(name) / file).write_bytes(data)
        os.chdir(name)
        try:
            with _in_time():
                status, out, said = _called([*given.arguments, "--engine", ENGINE])
        except _Late:
            return f"it took more than {LIMIT_S} s"
        finally:
            os.chdir(before)
    if status not in given.statuses:
        return f"status {status}: {said[:600]}"
    if (noise := _NOISE.search(said)) is not None:
        return f"{noise[0]!r} in: {said[:600]}"
    if "Traceback" in out:
        return "a traceback on standard output"
    if status and (not said.strip() or any(len(line) > 2100 for line in said.splitlines())):
        return f"status {status} without a sentence, or with a very long one: {said[:200]}"
    return None


@contextmanager
def _in_time() -> Iterator[None]:
    def end(_: int, __: FrameType | None) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _called(arguments: list[str]) -> tuple[int, str, str]:
    """The status, standard output and standard error, with what libraries write to it by its number."""
    out = io.StringIO()
    with tempfile.TemporaryFile() as kept:
        saved = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            err = open(os.dup(kept.fileno()), "w", encoding="utf-8", errors="replace", buffering=1)  # noqa: SIM115
            with err, redirect_stdout(out), redirect_stderr(err):
                try:
                    status = main(arguments)
                except SystemExit as ended:
                    status = int(ended.code or 0)
        except Exception as error:  # noqa: BLE001 - whatever leaves the command line is a traceback
            status = -1
            os.write(2, f"Traceback: {type(error).__name__}: {error}".encode("utf-8", "replace"))
        finally:
            os.dup2(saved, 2)
            os.close(saved)
        kept.seek(0)
        return status, out.getvalue(), kept.read().decode("utf-8", "replace")
