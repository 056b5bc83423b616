"""Find or make the virtual environment that the app and its tests run in.

State: the folder `.venv` (or $CHANGELOG_STUDIO_VENV) with two files of ours. The lock marks the folder as
ours, so that no other environment is ever emptied, and lets one of two simultaneous starts wait for the
other. The stamp is the fingerprint of the requirements, written only after a complete install. A folder
without it was interrupted and is made anew, because pip regards a half-copied package as installed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ui.bootstrap import install, requirements
from ui.bootstrap.errors import SetupError

try:
    import fcntl
except ImportError:
    sys.exit("Changelog Studio runs on Linux and macOS. On Windows, start it inside WSL.")

LOCK = "changelog-studio.lock"
STAMP = "changelog-studio.installed"


def ready_python(file: Path = requirements.REQUIREMENTS) -> Path:
    """Return an interpreter that has every requirement in a file, making its environment first if need be.

    Raises: SetupError with the one sentence to show.
    """
    chosen = os.environ.get("CHANGELOG_STUDIO_VENV")
    if not chosen and requirements.are_met_here(file):
        return Path(sys.executable)
    folder = Path(chosen).expanduser().absolute() if chosen else file.parent / ".venv"
    wanted = requirements.fingerprint(file)
    if _installed(folder) != wanted:
        with _locked(folder):
            if _installed(folder) != wanted:
                _make(folder, file, wanted)
    return folder / "bin" / "python"


def _installed(folder: Path) -> str | None:
    """Return the fingerprint of the complete environment in a folder, None if there is none."""
    stamp = folder / STAMP
    # The interpreter is a link to the system's, which may have been removed since.
    return stamp.read_text() if stamp.is_file() and (folder / "bin" / "python").exists() else None


def _make(folder: Path, file: Path, wanted: str) -> None:
    stamp = folder / STAMP
    if _installed(folder) is None:
        install.say(f"Creating the Python environment in {folder} (once; about 1.8 GB, a few minutes).")
        _empty(folder)
        install.create(folder)
    else:
        install.say(f"{file.name} has changed: updating {folder}.")
    stamp.unlink(missing_ok=True)
    install.install(folder, file)
    unfinished = stamp.with_suffix(".unfinished")
    unfinished.write_text(wanted)
    unfinished.replace(stamp)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with _open_lock(folder) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            install.say("Another process is preparing the environment; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _open_lock(folder: Path) -> IO[str]:
    try:
        if folder.is_dir() and any(folder.iterdir()) and not (folder / LOCK).is_file():
            msg = (
                f"{folder} was not created by Changelog Studio and is left unchanged. Remove it, "
                "or set CHANGELOG_STUDIO_VENV to another folder."
            )
            raise SetupError(msg)
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / LOCK).open("a")
    except OSError as error:
        msg = (
            f"The Python environment cannot be created in {folder}: {error.strerror}. "
            "Set CHANGELOG_STUDIO_VENV to a folder that is writable."
        )
        raise SetupError(msg) from error


def _empty(folder: Path) -> None:
    # `venv --clear` would remove the lock, which this start holds and others wait for.
    for entry in folder.iterdir():
        if entry.name == LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
