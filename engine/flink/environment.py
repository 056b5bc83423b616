"""Where Flink is installed: an environment of its own beside the store, or one that CHANGELOG_STUDIO_FLINK names.

It is no part of the studio's requirements: it is large, and its libraries do not fit Spark's.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final
from uuid import uuid4

from engine.errors import EngineUnavailable, RunCancelled

VERSION: Final = "2.3.0"
ENVIRONMENT: Final = "CHANGELOG_STUDIO_FLINK"
"""The variable that names an interpreter with apache-flink."""
SIZE: Final = "about 400 MB to download, 1 GB on disk"
"""Of apache-flink and what it needs."""
_DONE: Final = "installed"
_LOOK_S: Final = 0.2
_COLLECTING: Final = re.compile(r"^(?:Collecting|Downloading|Building wheel|Installing|Preparing)\b.*")
Told = Callable[[str], None]


def home_beside(store: Path) -> Path:
    """The folder of the environment beside a store."""
    return store.absolute().parent / f"{store.stem}.flink" / VERSION


def python_in(home: Path) -> str | None:
    """An interpreter with Flink: the one that the setting names, else the installed one; None if there is none."""
    if chosen := os.environ.get(ENVIRONMENT):
        return chosen
    return str(_python(home)) if (home / _DONE).exists() and _python(home).exists() else None


def require_python(home: Path) -> str:
    """The same. Raises EngineUnavailable with how to get one."""
    if (interpreter := python_in(home)) is None:
        message = (
            f"Flink {VERSION} is not installed. Install it on the page Engines, or by python -m engine flink install "
            f"({SIZE}); or name an interpreter that has apache-flink in {ENVIRONMENT}, or a SQL Gateway."
        )
        raise EngineUnavailable(message)
    return interpreter


def install(home: Path, told: Told = lambda line: None, cancel: Event | None = None) -> str:
    """Install Flink, unless it is there. told: called with what is done. Returns the interpreter.

    An installation that is cancelled or fails leaves nothing. Raises RunCancelled, EngineUnavailable.
    """
    if (home / _DONE).exists():
        return str(_python(home))
    stop = cancel or Event()
    staging = home.with_name(f"{home.name}.{uuid4().hex[:8]}")
    try:
        staging.parent.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", str(staging)], told, stop)
        pip = [str(_python(staging)), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        _run([*pip, "setuptools<81", "wheel"], told, stop)
        _run([*pip, f"apache-flink=={VERSION}"], told, stop)
        (staging / _DONE).write_text(f"{VERSION}\n", encoding="utf-8")
        shutil.rmtree(home, ignore_errors=True)
        staging.rename(home)
    except OSError as error:
        message = f"Flink cannot be installed in {home}: {error.strerror}."
        raise EngineUnavailable(message) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return str(_python(home))


def remove(home: Path) -> None:
    """Delete the installed environment."""
    shutil.rmtree(home, ignore_errors=True)


def _python(home: Path) -> Path:
    return home / "bin" / "python"


def _run(command: list[str], told: Told, stop: Event) -> None:
    """Run a command; its steps are told. Raises RunCancelled, EngineUnavailable with its last lines."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        # What it starts, such as a compiler, ends with it.
        start_new_session=True,
    )
    # It says nothing for minutes while it downloads.
    watching = threading.Thread(target=_end_when, args=(stop, process), daemon=True)
    watching.start()
    lines: list[str] = []
    assert process.stdout is not None
    with process:
        for line in process.stdout:
            lines.append(line.strip())
            if _COLLECTING.match(line.strip()):
                told(line.strip()[:120])
        status = process.wait()
    watching.join()
    if stop.is_set():
        why = "the installation of Flink was cancelled."
        raise RunCancelled(why)
    if status:
        message = f"Flink cannot be installed: {' '.join(lines[-3:])[:400]}"
        raise EngineUnavailable(message)


def _end_when(stop: Event, process: subprocess.Popen[str]) -> None:
    while process.poll() is None:
        if stop.wait(_LOOK_S):
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            return
