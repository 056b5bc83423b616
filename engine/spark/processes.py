"""Processes by their numbers: whether they are still there, and those that outlive this one."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Final


def is_running(process: int) -> bool:
    """Whether it is a process of this user that has not ended."""
    try:
        os.kill(process, 0)
    except PermissionError:
        # Somebody else's: the number has been given again.
        return False
    except OSError:
        return False
    try:
        # Where nobody waits for it, in a container say, one that has ended stays there as a zombie.
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2][:1]
    except OSError:
        return True
    return state != "Z"


_children: Final[set[int]] = set()


def let_go(keeper: subprocess.Popen[bytes]) -> None:
    """Take it for ended, so that Python does not warn of it at exit; wait for those that have ended since."""
    keeper.returncode = 0
    _children.add(keeper.pid)
    for child in list(_children):
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(child, os.WNOHANG) == (0, 0):
                continue
        _children.discard(child)
