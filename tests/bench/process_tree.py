"""CPU seconds and resident memory of a process and all its descendants, from Linux's /proc.

On systems without /proc, such as macOS, the answers are empty. Standard library only.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
IS_AVAILABLE: Final = (_PROC / "self" / "stat").exists()
JAVA, DRIVER, WORKERS, PYTHON = "java", "driver", "workers", "python"
# By root, the CPU seconds of processes whose end their parent ignores, as the daemon of Spark's workers does: once they
# have ended, nobody's figures have them.
_UNCLAIMED: Final[dict[int, dict[int, float]]] = {}


@dataclass(frozen=True)
class Process:
    """The current state of a process. cpu_s: user and system time, including its ended children."""

    pid: int
    parent: int
    name: str
    cpu_s: float
    resident_bytes: int


def tree(root: int) -> list[Process]:
    """The process and all its descendants, parents first."""
    below: dict[int, list[Process]] = {}
    found: list[Process] = []
    for process in _all():
        below.setdefault(process.parent, []).append(process)
        if process.pid == root:
            found.append(process)
    unclaimed = _UNCLAIMED.setdefault(root, {})
    for process in found:
        children = below.get(process.pid, [])
        found += children
        if children and _ignores_children(process.pid):
            unclaimed |= {child.pid: child.cpu_s for child in children}
    return found


def cpu(root: int) -> dict[str, float]:
    """CPU seconds so far by role: JVMs, the process itself, and all others, which are Python workers.

    With those of workers that have ended, as of when the tree was last looked at.
    """
    processes = tree(root)
    there = {process.pid for process in processes}
    ended = sum(seconds for pid, seconds in _UNCLAIMED[root].items() if pid not in there)
    found = _by_role(root, processes, "cpu_s")
    return found | {WORKERS: found.get(WORKERS, 0) + ended} if ended else found


def memory(root: int) -> dict[str, float]:
    """Current resident bytes by the same roles. Memory shared by forked processes counts for each of them."""
    return _by_role(root, tree(root), "resident_bytes")


def kill(root: int) -> None:
    """Kill a process whose exit status has not been collected, and all its descendants."""
    for pid in [process.pid for process in tree(root)] or [root]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    _signal_group(root, signal.SIGKILL)


def let_end(root: int, limit_s: float = 20) -> None:
    """Wait until the group of an ended process is empty, since a JVM takes a while to end; then kill the rest."""
    until = time.monotonic() + limit_s
    while _signal_group(root, 0) and time.monotonic() < until:
        time.sleep(0.1)
    _signal_group(root, signal.SIGKILL)


def _signal_group(leader: int, what: int) -> bool:
    """Signal a group. False if it is empty. No other processes are affected: every side leads a session of its own."""
    try:
        os.killpg(leader, what)
    except (ProcessLookupError, PermissionError):
        return False
    return True


class Peak(threading.Thread):
    """The largest resident memory of a tree by role since it was last taken, polled five times a second until `stop`.

    PYTHON is the sum of the driver and the workers.
    """

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self._root = root
        self._stopped = threading.Event()
        self.bytes: dict[str, float] = {}

    def run(self) -> None:
        """Poll until stopped."""
        while IS_AVAILABLE and not self._stopped.wait(0.2):
            now = memory(self._root)
            now[PYTHON] = now.get(DRIVER, 0) + now.get(WORKERS, 0)
            for role, size in now.items():
                self.bytes[role] = max(size, self.bytes.get(role, 0))

    def take(self) -> dict[str, float]:
        """What was found since the last time."""
        found, self.bytes = self.bytes, {}
        return found

    def stop(self) -> None:
        """Stop polling."""
        self._stopped.set()
        self.join()


def _ignores_children(pid: int) -> bool:
    try:
        status = (_PROC / f"{pid}" / "status").read_text()
    except OSError:
        return False
    ignored = status.partition("SigIgn:")[2].split(maxsplit=1)
    return bool(ignored) and bool(int(ignored[0], 16) >> (signal.SIGCHLD - 1) & 1)


def _by_role(root: int, processes: Iterable[Process], amount: str) -> dict[str, float]:
    sums: dict[str, float] = {}
    for process in processes:
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
                continue  # The process has ended meanwhile.
            # The name is in parentheses and may contain some itself; the state follows the last one.
            head, _, tail = raw.rpartition(")")
            fields = tail.split()
            cpu_s = sum(map(int, fields[11:15])) / ticks
            yield Process(int(entry), int(fields[1]), head.partition("(")[2], cpu_s, int(fields[21]) * page)
