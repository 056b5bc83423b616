"""The process that keeps one of the studio's Spark servers: `engine.spark.servers` starts it, and sends it the request.

It outlives the process that started it. It writes the server's address to a note, and ends the server after an idle
period, on SIGTERM, or when the note is removed. If it is killed itself, the server ends as well: `GuardedJvm` sees to
that.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any, Final

from engine.spark.jvm_guard import GuardedJvm
from engine.spark.servers import LOG_FILE, SERVER_FILE, STARTED, USED_FILE

_PORT: Final = re.compile(re.escape(STARTED) + r"[^\n]*?:(\d+)")
_START_S: Final = 170
# A JVM that writes a class archive at its end needs 10 to 20 seconds, and minutes on a busy machine.
_END_S: Final = 600


class _Told(Exception):
    """This process received a signal to end."""


def keep(request: dict[str, Any]) -> int:
    """Start the server and stay until it ends. Returns the exit status."""
    folder, scratch = Path(request["folder"]), Path(request["scratch"])
    log = folder / LOG_FILE
    with log.open("ab") as written:
        # Its own session, so that signals to this process group do not reach the JVM.
        process = subprocess.Popen(
            request["command"], cwd=scratch, stdin=subprocess.DEVNULL, stdout=written, stderr=written
        )
    jvm = GuardedJvm(process, scratch)
    note = folder / SERVER_FILE
    signal.signal(signal.SIGTERM, _tell)
    is_told = False
    try:
        port = _port(log, jvm)
        if port is None:
            return 1
        told = {name: request[name] for name in ("master", "token", "checkout")}
        told |= {"port": port, "keeper": os.getpid(), "jvm": process.pid}
        _write(note, json.dumps(told))
        if request["lock"] is not None:
            os.close(request["lock"])
        _stay(folder, jvm, json.dumps(told), request["idle_s"])
    except _Told:
        is_told = True
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        jvm.close(_END_S if is_told else 10)
        with contextlib.suppress(OSError):
            if json.loads(note.read_text(encoding="utf-8"))["token"] == request["token"]:
                note.unlink()
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def _stay(folder: Path, jvm: GuardedJvm, told: str, idle_s: float) -> None:
    """Return once the server has ended, or is no longer needed."""
    # Idle time is measured, not told by the clock, which somebody may set: an engine in use would end.
    seen, since = 0, time.monotonic()
    while jvm.is_alive():
        try:
            if (folder / SERVER_FILE).read_text(encoding="utf-8") != told:
                return
            if (used := (folder / USED_FILE).stat().st_mtime_ns) != seen:
                seen, since = used, time.monotonic()
            if time.monotonic() - since > idle_s:
                return
        except OSError:
            # The cache was emptied: the server cannot be found again.
            return
        time.sleep(1)


def _port(log: Path, jvm: GuardedJvm) -> int | None:
    """The port in the server's log; None if the server ends before, or does not report one."""
    end = time.monotonic() + _START_S
    while jvm.is_alive() and time.monotonic() < end:
        if match := _PORT.search(log.read_text(errors="replace")):
            return int(match[1])
        time.sleep(0.02)
    return None


def _write(path: Path, text: str) -> None:
    """Write a file atomically, readable for this user only."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


def _tell(_number: int, _frame: FrameType | None) -> None:
    raise _Told


if __name__ == "__main__":
    sys.exit(keep(json.load(sys.stdin)))
