"""The JVM of a server, which ends with this process, however this process ends.

A JVM does not notice that its parent ended, and would remain as an orphan of gigabytes. Therefore a shell waits on a
pipe from this process; once the pipe is closed, it asks the JVM to end, waits some seconds, and kills it. An orderly
end waits for Spark's shutdown hooks, these for locks that a planning thread may hold for minutes, and a JVM that
collects garbage all the time makes no progress at all. (Linux could do it with PR_SET_PDEATHSIG; macOS has no
equivalent, and a signal would leave the JVM no time for its own end.)
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
from pathlib import Path
from typing import Final

GRACE_S: Final = 5
# A JVM that ends in order after SIGTERM returns 128 + 15.
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
    """A JVM as a child of this process. Its shell has its own session, which Ctrl+C does not reach."""

    def __init__(self, jvm: subprocess.Popen[bytes], scratch: Path, grace_s: int = GRACE_S) -> None:
        self._jvm = jvm
        self._shell: subprocess.Popen[bytes] | None = None
        # Without a shell, the JVM still ends by itself in most cases, so the start continues.
        with contextlib.suppress(OSError):
            self._shell = subprocess.Popen(
                ["/bin/sh", "-c", _WATCH, "changelog-studio-guard", str(jvm.pid), str(grace_s * 10), str(scratch)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def is_alive(self) -> bool:
        """False once it has ended, for any reason, such as a lack of memory."""
        if self._jvm.poll() is None:
            return True
        self._dismiss()
        return False

    def kill(self) -> None:
        """Kill it immediately."""
        self._jvm.kill()
        self._jvm.wait()
        self._dismiss()

    def close(self, timeout_s: float) -> bool:
        """Let it end by itself, and write its files. False if it failed, or had to be killed."""
        self._jvm.terminate()
        try:
            return self._jvm.wait(timeout_s) in _IN_ORDER
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.kill()

    def _dismiss(self) -> None:
        """The id of a process that has ended and been waited for may be reused: nothing may kill by it."""
        if self._shell is not None:
            self._shell.kill()
            self._shell.communicate()
            self._shell = None
