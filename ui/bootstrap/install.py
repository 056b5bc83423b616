"""Create a virtual environment with venv, and install requirements into it with pip, which shows its progress."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ui.bootstrap.errors import SetupError
from ui.bootstrap.pip_wheel import download_pip

LOG = "changelog-studio.log"

_STDERR = 2
# Settings for other environments, which venv and pip would follow. Settings that name a package index are needed.
_MISLEADING = {"PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONHOME", "PYTHONPATH"}


def say(message: str) -> None:
    """Write a message to the terminal."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()


def create(folder: Path) -> None:
    """Make an environment with pip in a folder, also for a Python without ensurepip (such as Debian's).

    Raises: SetupError if neither ensurepip nor the package index provides pip.
    """
    if importlib.util.find_spec("ensurepip") is not None and _venv(folder) is None:
        return
    # A fresh Debian has venv but no ensurepip, and `python -m venv` fails there instead of fetching a pip.
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


def install(folder: Path, requirements: Path) -> None:
    """Install requirements into an environment. pip shows its progress, and writes its log into the environment.

    Raises: SetupError if pip failed; the reason is in the output of pip.
    """
    options = ["--disable-pip-version-check", "--no-input", "--log", str(folder / LOG)]
    run = subprocess.run(
        [folder / "bin" / "python", "-m", "pip", "install", *options, "-r", requirements],
        cwd=requirements.parent,
        env=_environment(),
        stdout=_STDERR,
        check=False,
    )
    if run.returncode != 0:
        msg = (
            f"The packages of {requirements.name} cannot be installed: pip says above why. "
            f"All of its output is in {folder / LOG}; start again to try again."
        )
        raise SetupError(msg)


def _venv(folder: Path, *options: str) -> str | None:
    """Run venv; return the last line of its output if it failed."""
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
