"""The process that keeps a Spark server of our own: `engine.spark.servers` starts it, and writes it what to start.

It outlives who started it. It notes where the server answers, and ends it once it has not been used for a while, when
it is told to (SIGTERM), or when somebody takes that note away. Should it be killed itself, the server ends as well:
`GuardedJvm` waits for that.
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
# A JVM that writes a class archive at its end takes 10 to 20 seconds for it, on a busy machine minutes.
_END_S: Final = 600


class _Told(Exception):
    """Somebody told this process to end."""


def keep(request: dict[str, Any]) -> int:
    """Start the server and stay with it to its end. The exit status."""
    folder, scratch = Path(request["folder"]), Path(request["scratch"])
    log = folder / LOG_FILE
    with log.open("ab") as written:
        # Its own session, so that a signal for this process's group is not one for the JVM.
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
        told = {name: request[name] for name in ("master", "token")}
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
    """Return once the server has ended, or nobody wants it any more."""
    while jvm.is_alive():
        try:
            if (folder / SERVER_FILE).read_text(encoding="utf-8") != told:
                return
            if time.time() - (folder / USED_FILE).stat().st_mtime > idle_s:
                return
        except OSError:
            # Somebody emptied the cache: nobody can find the server again.
            return
        time.sleep(1)


def _port(log: Path, jvm: GuardedJvm) -> int | None:
    """The port that the server says it listens on; None where it ends before, or says nothing."""
    end = time.monotonic() + _START_S
    while jvm.is_alive() and time.monotonic() < end:
        if match := _PORT.search(log.read_text(errors="replace")):
            return int(match[1])
        time.sleep(0.02)
    return None


def _write(path: Path, text: str) -> None:
    """Write a file that is complete when it is there, and that only this user can read."""
    draft = path.with_suffix(".draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    draft.replace(path)


def _tell(_number: int, _frame: FrameType | None) -> None:
    raise _Told


if __name__ == "__main__":
    sys.exit(keep(json.load(sys.stdin)))
