"""Create a virtual environment and install requirements into it, telling how far it is."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
from collections import deque
from pathlib import Path

from ui.bootstrap.errors import SetupError
from ui.bootstrap.pip_wheel import download_pip

LOG = "changelog-studio.log"

# Settings that would send packages elsewhere than into the environment.
_MISLEADING = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONHOME", "PYTHONPATH"}
_COLLECTING = re.compile(r"^(?:Collecting|Processing) (\S+)")
_PHASES = {
    "Building wheel for pyspark": "building PySpark",
    "Installing collected packages": "copying everything into place",
}


def say(message: str) -> None:
    """Tell the person at the terminal what is going on."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def create(folder: Path) -> None:
    """Make an environment with pip in a folder, also where Python came without ensurepip (Debian's does).

    Raises: SetupError where neither ensurepip nor the package index gives a pip.
    """
    if importlib.util.find_spec("venv") is None:
        msg = f"{sys.executable} has no venv module. Install it (on Debian, python3-venv) and start again."
        raise SetupError(msg)
    if importlib.util.find_spec("ensurepip") is not None and _venv(folder) is None:
        return
    if trouble := _venv(folder, "--without-pip"):
        msg = f"The Python environment cannot be created in {folder}: {trouble}"
        raise SetupError(msg)
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download_pip(Path(scratch))
        run = subprocess.run(
            [folder / "bin" / "python", wheel / "pip", "install", "--no-index", "--no-deps", wheel],
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
    if run.returncode != 0:
        msg = f"pip cannot be installed into {folder}: {_last_line(run.stderr)}"
        raise SetupError(msg)


def install(folder: Path, requirements: Path, total: int) -> None:
    """Install requirements into an environment; pip's own words go to a log file inside it.

    Raises: SetupError with pip's last words.
    """
    command = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
        "-r",
        str(requirements),
    ]
    last = deque[str](maxlen=200)
    progress = _Progress(total)
    with (
        (folder / LOG).open("w", encoding="utf-8") as log,
        subprocess.Popen(
            command,
            cwd=requirements.parent,
            env=_environment(),
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as pip,
    ):
        assert pip.stdout is not None
        for line in pip.stdout:
            log.write(line)
            log.flush()
            last.append(line.strip())
            progress.show(line)
    progress.end()
    if pip.returncode != 0:
        errors = [line for line in last if line.startswith("ERROR:")] or [line for line in last if line][-3:]
        msg = (
            f"The packages of {requirements.name} cannot be installed: {' '.join(errors)} "
            f"All of pip's output is in {folder / LOG}; start again to try again."
        )
        raise SetupError(msg)


class _Progress:
    """One line that is rewritten on a terminal, a line per package elsewhere."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.seen: set[str] = set()
        self.rewrite = sys.stderr.isatty()

    def show(self, line: str) -> None:
        if match := _COLLECTING.match(line):
            name = match[1].partition("==")[0]
            if name in self.seen:
                return
            self.seen.add(name)
            self._write(f"  fetching {len(self.seen)} of {self.total}: {name}")
        for sign, words in _PHASES.items():
            if line.strip().startswith(sign):
                self._write(f"  {words}")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\033[K{text}" if self.rewrite else text + "\n")
        sys.stderr.flush()

    def end(self) -> None:
        if self.rewrite:
            sys.stderr.write("\r\033[K")


def _venv(folder: Path, *options: str) -> str | None:
    """Run venv; return its last words if it failed."""
    run = subprocess.run(
        [sys.executable, "-m", "venv", *options, folder],
        env=_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return None if run.returncode == 0 else _last_line(run.stderr or run.stdout)


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _MISLEADING}


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason was given."
