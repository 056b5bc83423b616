"""Processes by their ids: whether they are still running, and child processes that outlive this one."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Final


def is_running(process: int) -> bool:
    """Whether this is a running process of this user."""
    try:
        os.kill(process, 0)
    except PermissionError:
        # A process of another user: the id was reused.
        return False
    except OSError:
        return False
    try:
        # Where no parent waits for it, as in a container, an ended process remains as a zombie.
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2][:1]
    except OSError:
        return True
    return state != "Z"


_children: Final[set[int]] = set()


def let_go(keeper: subprocess.Popen[bytes]) -> None:
    """Mark it as ended, so that Python prints no warning at exit; wait for those that have ended since."""
    keeper.returncode = 0
    _children.add(keeper.pid)
    for child in list(_children):
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(child, os.WNOHANG) == (0, 0):
                continue
        _children.discard(child)
