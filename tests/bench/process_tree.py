"""What a process and all processes below it take: CPU seconds and resident memory, from Linux's /proc.

Elsewhere, on macOS say, there is no such folder, and the answers are empty. Standard library only.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
IS_AVAILABLE: Final = (_PROC / "self" / "stat").exists()
JAVA, DRIVER, WORKERS, PYTHON = "java", "driver", "workers", "python"


@dataclass(frozen=True)
class Process:
    """A process as it is now. cpu_s: user and system, of its children that have ended as well."""

    pid: int
    parent: int
    name: str
    cpu_s: float
    resident_bytes: int


def tree(root: int) -> list[Process]:
    """The process and all below it, parents first."""
    below: dict[int, list[Process]] = {}
    found: list[Process] = []
    for process in _all():
        below.setdefault(process.parent, []).append(process)
        if process.pid == root:
            found.append(process)
    for process in found:
        found += below.get(process.pid, [])
    return found


def cpu(root: int) -> dict[str, float]:
    """CPU seconds so far: of JVMs, of the process itself, and of everything else, which is Python's workers."""
    return _by_role(root, "cpu_s")


def memory(root: int) -> dict[str, float]:
    """Resident bytes now, by the same three. What forked processes share counts for each."""
    return _by_role(root, "resident_bytes")


def kill(root: int) -> None:
    """Kill a process that nobody has waited for yet, and all below it."""
    for pid in [process.pid for process in tree(root)] or [root]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _signal_group(root, signal.SIGKILL)


def let_end(root: int, limit_s: float = 20) -> None:
    """Wait until the group of a process that has ended is empty, a JVM takes a while; kill what stays."""
    until = time.monotonic() + limit_s
    while _signal_group(root, 0) and time.monotonic() < until:
        time.sleep(0.1)
    _signal_group(root, signal.SIGKILL)


def _signal_group(leader: int, what: int) -> bool:
    """False where the group is empty. Groups of others are left alone: a side leads a session of its own."""
    try:
        os.killpg(leader, what)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class Peak(threading.Thread):
    """The most resident memory that a tree had at once, by role, looked at five times a second until `stop`.

    PYTHON is the driver and the workers together.
    """

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._stopped = threading.Event()
        self.bytes: dict[str, float] = {}

    def run(self) -> None:
        """Look until stopped."""
        while IS_AVAILABLE and not self._stopped.wait(0.2):
            now = memory(self._root)
            now[PYTHON] = now.get(DRIVER, 0) + now.get(WORKERS, 0)
            for role, size in now.items():
                self.bytes[role] = max(size, self.bytes.get(role, 0))

    def stop(self) -> None:
        """End looking."""
        self._stopped.set()
        self.join()


def _by_role(root: int, amount: str) -> dict[str, float]:
    sums: dict[str, float] = {}
    for process in tree(root):
        role = JAVA if process.name == "java" else DRIVER if process.pid == root else WORKERS
        sums[role] = sums.get(role, 0) + getattr(process, amount)
    return sums


def _all() -> Iterator[Process]:
    if not IS_AVAILABLE:
        return
    ticks, page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
    for entry in os.listdir(_PROC):
        if entry.isdigit():
            try:
                raw = (_PROC / entry / "stat").read_text(errors="replace")
            except OSError:
                continue  # It ended in between.
            # The name stands in parentheses and may have some itself; the state comes after the last one.
            head, _, tail = raw.rpartition(")")
            fields = tail.split()
            cpu_s = sum(map(int, fields[11:15])) / ticks
            yield Process(int(entry), int(fields[1]), head.partition("(")[2], cpu_s, int(fields[21]) * page)
