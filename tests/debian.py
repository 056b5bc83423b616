"""Debian's packages of programs that tests need."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Workers of one test run install at the same time, and apt allows only one at a time."""
    with (Path(sys.prefix) / "apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(*packages: str, unless: Callable[[], bool]) -> None:
    """Install packages, if this is Debian and we are root. unless: whether their programs are there."""
    apt = shutil.which("apt-get")
    if unless() or apt is None or os.geteuid() != 0:
        return
    # Debian starts no services in this runlevel. The tests start their own.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    with one_at_a_time():
        for command in ([apt, "update"], [apt, "install", "-y", "--no-install-recommends", *packages]):
            if not unless():
                subprocess.run(command, env=environment, capture_output=True, check=False)
