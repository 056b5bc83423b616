"""Make the class archive: a process of its own, of the lowest priority, that starts Spark, rehearses, and ends.

The JVM writes the archive when it ends, and needs 10 to 20 seconds for it. The app's own JVM could do that, but then
every Ctrl+C would take as long, and a kill would lose it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from engine.spark import session

_ROOT: Final = Path(__file__).resolve().parents[2]
_MASTER: Final = "local[2]"
_END_S: Final = 600


def make_in_background() -> subprocess.Popen[bytes] | None:
    """Start the process that makes the archive which this process's JVM lacks; None where nothing is to be done.

    It ends early when this process ends, or closes the pipe to it. Nobody need wait for it.
    """
    if not session.has_jvm():
        return None
    archive = session.archive()
    if archive is None or not archive.is_wanted():
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "engine.spark.archiving"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        # No memory for another process, say: then this is no moment for it.
        return None


def make() -> bool:
    """Make it in this process, which has no session yet. True if it is there now."""
    from engine.runtime.rehearsal import rehearse

    archive = session.archive()
    if archive is None:
        return False
    with archive.draft() as draft:
        if draft is None:
            return False
        try:
            rehearse(session.start(_MASTER, archive.to_write(draft)))
            if session.close(_END_S):
                archive.adopt(draft)
        finally:
            if not archive.path.exists():
                archive.discard()
    return archive.path.exists()


def _end_with_parent() -> None:
    """End at once when the pipe on standard input closes. The JVM's guard does the rest."""
    # Not through sys.stdin: the interpreter aborts where a thread holds the lock of that while it shuts down.
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    os.nice(19)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(0 if make() else 1)
