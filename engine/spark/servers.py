"""The studio's own Spark Connect servers: one for each engine on this machine, shared by all processes of a checkout.

    local[2], local[*], spark://host:port      a local JVM with a Spark Connect server on the loopback interface

The first process that needs an engine starts its server; later ones, such as a second app or the command line, find
it. A server ends after an idle period, not with the process that started it (`engine.spark.keeper`). Its address and
token are in a folder that only this user can read, and that other checkouts of the studio use as well: each has its own
servers there.

    servers/<digest>/lock           held while a server starts
                     server.json    address, token and processes of the server, once it answers
                     used           modified on each use
                     log            the output of the JVM and Spark
                     given_up       the token of the last server that was killed because of one run
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from engine.caches import cache_folders
from engine.errors import EngineUnavailable
from engine.scratch import hold, kept_scratch
from engine.spark.class_archive import ClassArchive, class_archive
from engine.spark.memory import heap
from engine.spark.processes import is_running, let_go
from engine.spark.server_command import FLAGS, SETTINGS, command, environment_of, java_home

FOLDER_ENVIRONMENT: Final = "CHANGELOG_STUDIO_SERVERS"
IDLE_ENVIRONMENT: Final = "CHANGELOG_STUDIO_ENGINE_IDLE_MINUTES"
IDLE_MINUTES: Final = 30.0
SERVER_FILE: Final = "server.json"
USED_FILE: Final = "used"
LOG_FILE: Final = "log"
GIVEN_UP_FILE: Final = "given_up"
STARTED: Final = "Spark Connect server started at"
_NOTED: Final = {"master", "port", "token", "keeper", "jvm", "checkout"}
CHECKOUT: Final = Path(__file__).resolve().parents[2]
_START_S: Final = 180


@dataclass(frozen=True)
class Server:
    """A server that has answered once.

    folder: of its files. master: Spark's. keeper, jvm: process ids. checkout: the folder of the studio that uses it.
    """

    folder: Path
    master: str
    port: int
    token: str = field(repr=False)
    keeper: int
    jvm: int
    checkout: Path
    is_new: bool = False

    @property
    def url(self) -> str:
        """Its address for PySpark's client, which uses no encryption on `localhost` and requires TLS elsewhere.

        All processes share one session, with its Python workers and loaded classes.
        """
        session = uuid5(NAMESPACE_OID, self.token)
        return f"sc://localhost:{self.port}/;token={self.token};user_id=studio;session_id={session}"

    def is_alive(self) -> bool:
        """False once it has ended, for any reason."""
        written = _written(self.folder)
        return written is not None and written["token"] == self.token and is_running(self.jvm)

    def last_words(self) -> str:
        """The reason for its end in the JVM's output, such as `: java.lang.OutOfMemoryError: Java heap space`."""
        try:
            log = (self.folder / LOG_FILE).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        errors = [line.strip() for line in log.splitlines() if "OutOfMemoryError" in line or "SIGSEGV" in line]
        return f": {errors[-1][:200]}" if errors else ""

    def use(self) -> None:
        """Note a use, which restarts the idle period."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / USED_FILE)

    def give_up(self) -> None:
        """Kill it because of one run: the others that are on it are not the reason."""
        with contextlib.suppress(OSError):
            (self.folder / GIVEN_UP_FILE).write_text(self.token, encoding="ascii")
        self.kill()

    def was_given_up(self) -> bool:
        """Whether it was killed because of one run."""
        try:
            return (self.folder / GIVEN_UP_FILE).read_text(encoding="ascii") == self.token
        except OSError:
            return False

    def kill(self) -> None:
        """Kill it immediately."""
        with contextlib.suppress(OSError):
            os.kill(self.jvm, signal.SIGKILL)
        self.ends_within(10)

    def close(self, timeout_s: float) -> bool:
        """Let it end in order, and wait for that. False if it had to be killed."""
        with contextlib.suppress(OSError):
            os.kill(self.keeper, signal.SIGTERM)
        if self.ends_within(timeout_s):
            return True
        self.kill()
        return False

    def ends_within(self, timeout_s: float) -> bool:
        """Wait for its end. False if it is still there."""
        end = time.monotonic() + timeout_s
        while self.is_alive() or is_running(self.jvm):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True


def server_for(master: str) -> Server:
    """The server of an engine on this machine: found, or started in some seconds. Raises EngineUnavailable."""
    folder = folder_of(master)
    with _locked(folder) as lock:
        if (server := _found(folder)) is not None:
            return server
        jvm_archive = archive()
        options = jvm_archive.to_read() if jvm_archive else []
        try:
            return start(master, folder, options, lock=lock)
        except EngineUnavailable:
            if jvm_archive is None or not options:
                raise
            # If the archive is unusable, Spark starts without it.
            jvm_archive.discard()
            return start(master, folder, [], lock=lock)


def servers(parent: Path | None = None, *, of_all: bool = False) -> list[Server]:
    """This checkout's servers that are alive, in the folder or wherever this user's are. of_all: of all checkouts."""
    parents = _parents() if parent is None else [parent]
    candidates = [_found(folder) for parent in parents if parent.is_dir() for folder in sorted(parent.iterdir())]
    return [server for server in candidates if server is not None and (of_all or server.checkout == CHECKOUT)]


def archive() -> ClassArchive | None:
    """The class archive for the Java that Spark uses here; it may not exist. Raises NoUsableJava."""
    return class_archive(Path(java_home()), (*FLAGS, heap()), cache_folders(os.environ)[0] / "changelog-studio")


def start(master: str, folder: Path, jvm_options: Sequence[str], *, lock: int | None = None) -> Server:
    """Start a server with these options for its JVM. lock: the keeper holds it until the server answers.

    Raises EngineUnavailable.
    """
    scratch = kept_scratch("spark")
    held = hold(scratch)
    token = secrets.token_urlsafe(32)
    (folder / USED_FILE).touch()
    request = {
        "folder": str(folder),
        "master": master,
        "scratch": str(scratch),
        "token": token,
        "checkout": str(CHECKOUT),
        "idle_s": 60 * float(os.environ.get(IDLE_ENVIRONMENT) or IDLE_MINUTES),
        "lock": lock,
        "command": command(master, scratch, jvm_options),
    }
    log = folder / LOG_FILE
    log.write_bytes(b"")
    log.chmod(0o600)
    try:
        with log.open("ab") as stderr:
            keeper = subprocess.Popen(
                [sys.executable, "-m", "engine.spark.keeper"],
                cwd=CHECKOUT,
                env=environment_of(master, token, scratch),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[descriptor for descriptor in (lock, held) if descriptor is not None],
                # Ctrl+C in this process does not reach it.
                start_new_session=True,
            )
        assert keeper.stdin is not None
        with keeper.stdin as stdin:
            stdin.write(json.dumps(request).encode())
    except OSError as error:
        message = f"Spark does not start on {master}: {error}."
        raise EngineUnavailable(message) from error
    finally:
        if held is not None:
            # The keeper holds the lock until it ends.
            os.close(held)
    end = time.monotonic() + _START_S
    while keeper.poll() is None and time.monotonic() < end:
        server = _found(folder)
        if server is not None and server.token == token:
            # It outlives this process.
            let_go(keeper)
            return replace(server, is_new=True)
        time.sleep(0.02)
    keeper.kill()
    keeper.wait()
    last = " ".join(log.read_text(errors="replace").split())[-400:]
    message = f"Spark does not start on {master}. {last} Check JAVA_HOME, or unset it to use our Java."
    raise EngineUnavailable(message)


def folder_of(master: str) -> Path:
    """The folder of a server's files, created if missing, readable for this user only. Raises EngineUnavailable."""
    from pyspark import __version__

    facts = [
        str(CHECKOUT),
        master,
        sys.executable,
        __version__,
        heap(),
        os.environ.get("JAVA_HOME", ""),
        json.dumps(SETTINGS),
    ]
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    problem: OSError | None = None
    for parent in _parents():
        folder = parent / digest
        try:
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)
        except OSError as error:
            problem = error
            continue
        return folder
    message = f"no folder for the engine's files can be written: {problem}. Set XDG_CACHE_HOME to one that can."
    raise EngineUnavailable(message)


def _parents() -> list[Path]:
    """The folders that may contain servers: tests have their own."""
    if given := os.environ.get(FOLDER_ENVIRONMENT):
        return [Path(given)]
    return [cache_folder / "changelog-studio" / "servers" for cache_folder in cache_folders(os.environ)]


@contextmanager
def _locked(folder: Path) -> Iterator[int]:
    """Only one process at a time starts a server; the others wait for it."""
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Closed, not unlocked: a keeper that is still starting a server holds the lock as well.
        yield lock.fileno()


def _found(folder: Path) -> Server | None:
    written = _written(folder)
    if written is None:
        return None
    written["checkout"] = Path(written["checkout"])
    server = Server(folder, **written)
    return server if is_running(server.jvm) and is_running(server.keeper) else None


def _written(folder: Path) -> dict[str, Any] | None:
    try:
        written = json.loads((folder / SERVER_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # Another version of the studio may have written a different note.
    return written if isinstance(written, dict) and written.keys() == _NOTED else None
