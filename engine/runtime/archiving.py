"""Creates the class archive: a separate low-priority process starts a server, rehearses, and ends both.

The JVM writes the archive when it ends, and needs 10 to 20 seconds for it. The users' server could do that,
but a kill would lose the archive.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from engine.errors import EngineUnavailable
from engine.runtime.rehearsal import rehearse
from engine.scratch import scratch
from engine.spark import servers
from engine.spark.engines import engine_at
from engine.spark.session import connect

_ROOT: Final = Path(__file__).resolve().parents[2]
_MASTER: Final = "local[2]"
_END_S: Final = 600


def make_in_background(niceness: int = 19) -> subprocess.Popen[bytes] | None:
    """Start the process that creates the missing archive of the studio's servers; None if there is nothing to do.

    It ends early when this process ends, or closes the pipe to it. The caller need not wait for it.
    """
    archive = servers.archive()
    if archive is None or not archive.is_wanted():
        return None
    try:
        return subprocess.Popen(
            [sys.executable, "-m", "engine.runtime.archiving", str(niceness)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        # For example, there is no memory for another process: then this is not the time for an archive.
        return None


def make() -> bool:
    """Create it, with a server that nobody else finds. True if it exists now."""
    archive = servers.archive()
    if archive is None:
        return False
    with archive.draft() as draft:
        if draft is None:
            return False
        with scratch("archiving") as folder:
            try:
                server = servers.start(_MASTER, folder, archive.to_write(draft))
                _started.append(server)
                rehearse(connect(engine_at(_MASTER), server))
                if server.close(_END_S):
                    archive.adopt(draft)
            except (EngineUnavailable, OSError):
                pass
            finally:
                if not archive.path.exists():
                    archive.discard()
    return archive.path.exists()


_started: Final[list[servers.Server]] = []


def _end_with_parent() -> None:
    """End immediately when the pipe on standard input closes, together with the server."""
    # Not through sys.stdin: the interpreter aborts where a thread holds the lock of that while it shuts down.
    while os.read(0, 1):
        pass
    for server in _started:
        server.kill()
    os._exit(1)


if __name__ == "__main__":
    os.nice(int(sys.argv[1]))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(0 if make() else 1)
