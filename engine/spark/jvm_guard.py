"""The JVM of a server, and the promise that it ends with this process, however this process ends.

A JVM hears nothing of its parent's end, and would be an orphan of gigabytes. So a shell waits on a pipe from this
process, and once that is closed it asks the JVM to end, gives it some seconds, and ends it for good: an orderly end
waits for Spark's shutdown hooks, these for locks that a thread in the middle of a plan may hold for minutes, and a JVM
that collects garbage all the time gets nowhere at all. (Linux could do it with PR_SET_PDEATHSIG; macOS has nothing like
it, and a signal would leave no time for the JVM's own end.)
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from pathlib import Path
from typing import Final

GRACE_S: Final = 5
# A JVM that is asked to end by SIGTERM says 128 + 15 when it has done so in order.
_IN_ORDER: Final = (0, 128 + signal.SIGTERM)

# $1: the JVM, $2: tenths of a second that it has, $3: its scratch folder, which a killed process leaves behind too.
_WATCH: Final = """
while read -r _; do :; done
kill -TERM "$1" 2> /dev/null
n=0
while [ "$n" -lt "$2" ] && kill -0 "$1" 2> /dev/null; do sleep 0.1; n=$((n + 1)); done
kill -KILL "$1" 2> /dev/null
rm -rf -- "$3"
"""


class GuardedJvm:
    """A JVM that is a child of this process. Its shell is in a session of its own, where no Ctrl+C arrives."""

    def __init__(self, jvm: subprocess.Popen[bytes], scratch: Path, grace_s: int = GRACE_S) -> None:
        self._jvm = jvm
        self._shell: subprocess.Popen[bytes] | None = None
        # Without a shell the JVM still ends by itself, mostly; that is no reason not to start.
        with contextlib.suppress(OSError):
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "changelog-studio-guard", str(jvm.pid), str(grace_s * 10), str(scratch)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def is_alive(self) -> bool:
        """False once it has ended, by whatever: the system ran out of memory, say."""
        if self._jvm.poll() is None:
            return True
        self._dismiss()
        return False

    def kill(self) -> None:
        """End it now, whatever it is doing."""
        self._jvm.kill()
        self._jvm.wait()
        self._dismiss()

    def close(self, timeout_s: float) -> bool:
        """Let it end by itself, and write what it writes at its end. False where it failed, or had to be killed."""
        self._jvm.terminate()
        try:
            return self._jvm.wait(timeout_s) in _IN_ORDER
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.kill()

    def _dismiss(self) -> None:
        """The number of a process that has ended and been waited for may soon be another's: nobody may kill by it."""
        if self._shell is not None:
            self._shell.kill()
            self._shell.communicate()
            self._shell = None
