"""The Spark session: embedded, standalone or Spark Connect, quiet, and on the running interpreter.

local[2], local[*], spark://host:port      a JVM of our own (engine.spark.java finds or brings it)
sc://host:port                             Spark Connect; no Java needed here
"""

from __future__ import annotations

import atexit
import logging
import os
import shlex
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from engine.errors import EngineUnavailable
from engine.spark.class_archive import QUIET, ClassArchive, class_archive
from engine.spark.java import cache_folders, environment
from engine.spark.jvm_guard import GuardedJvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER: Final = "local[*]"
_LOCK: Final = threading.Lock()
_SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
}
# Part of the name of the class archive: another collector, say, makes it another one.
#
# C2 begins ten times later than by default: a first run costs 12 to 14 CPU seconds for 16 (Java 25: 12 for 15), and
# large runs lose nothing: 4 M events through a shuffle, a sort, mapInArrow and Parquet 16 to 17 CPU seconds for 17 to
# 18, an aggregate of them in SQL 16 for 19 to 21 (two runs each, in turn). Not C1 alone (-XX:TieredStopAtLevel=1): 10
# CPU seconds for a first run, but 24 to 26 for these events, once warm 21 to 24 for 11 to 13, and 24 to 29 for the
# aggregate (three runs each, in turn).
_FLAGS: Final = (
    "-XX:+UseG1GC",
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    *QUIET,
)
_started: dict[str, SparkSession] = {}
_jvm: GuardedJvm | None = None


def get_spark(master: str = DEFAULT_MASTER) -> SparkSession:
    """The session on this engine, started at the first call (about 4 s) and shared after.

    One whose JVM has died, or was given up, is started anew.
    Raises EngineUnavailable with a sentence: no Java, nothing at that address, another engine is running.
    """
    with _LOCK:
        if _jvm is not None and not _jvm.is_alive():
            _forget()
        if master not in _started:
            _silence()
            if _started:
                other = next(iter(_started))
                message = f"this process already runs the engine {other}; restart it to use {master}."
                raise EngineUnavailable(message)
            _started[master] = _connect(master) if master.startswith("sc://") else _start_from_archive(master)
        return _started[master]


def give_up(spark: SparkSession) -> None:
    """End the JVM of a session that no longer answers: whoever waits for it gets an error, the next caller a new one.

    The one way to end what Spark does in planning: no cancelling reaches it. A Connect server is not ours to end.
    """
    with _LOCK:
        if _jvm is not None and any(session is spark for session in _started.values()):
            _expect_end()
            _jvm.kill()
            _forget()


def has_jvm() -> bool:
    """True where a session of this process has a JVM of its own: not before the first, nor with Spark Connect."""
    return _jvm is not None


def archive() -> ClassArchive | None:
    """The class archive that fits the Java which Spark gets here, whether it exists or not. Raises NoUsableJava."""
    return class_archive(Path(_java_home()), (*_FLAGS, _memory()), cache_folders(os.environ)[0] / "changelog-studio")


def start(master: str, jvm_options: Sequence[str]) -> SparkSession:
    """Start a session with these options for its JVM, of which this process has none yet. Raises EngineUnavailable."""
    with _LOCK:
        _started[master] = _start(master, jvm_options)
        return _started[master]


def close(timeout_s: float) -> bool:
    """Let the JVM of this process end in order, and wait for it. False where it failed, or did not end in time."""
    with _LOCK:
        _expect_end()
        has_ended = _jvm is not None and _jvm.close(timeout_s)
        _forget()
        return has_ended


def _start_from_archive(master: str) -> SparkSession:
    """Start with the class archive where there is one, and without where a JVM dies of it."""
    jvm_archive = archive()
    options = jvm_archive.to_read() if jvm_archive else []
    try:
        return _start(master, options)
    except EngineUnavailable:
        if jvm_archive is None or not options or (_jvm is not None and _jvm.is_alive()):
            raise
        jvm_archive.discard()
        _forget()
        return _start(master, [])


def _start(master: str, jvm_options: Sequence[str]) -> SparkSession:
    os.environ["JAVA_HOME"] = _java_home()
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    scratch = Path(tempfile.mkdtemp(prefix="changelog-studio-spark-"))
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    logging_file = scratch / "log4j2.properties"
    logging_file.write_text(
        "rootLogger.level = error\nrootLogger.appenderRef.stderr.ref = console\n"
        "appender.console.type = Console\nappender.console.name = console\nappender.console.target = SYSTEM_ERR\n"
        "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = %d %p %c{1}: %m%n%ex{1}\n"
        "logger.task.name = org.apache.spark\nlogger.task.level = off\n"
    )
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    java_options = [
        f"-Dlog4j2.configurationFile={logging_file.as_uri()}",
        f"-Dderby.system.home={scratch}",
        f"-Djava.io.tmpdir={scratch}",
        *_FLAGS,
        *jvm_options,
    ]
    settings = {
        **_SETTINGS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.memory": _memory(),
        # The driver's JVM gets these, and only that: the one that prints its command line is not to write archives.
        "spark.driver.extraJavaOptions": shlex.join(java_options),
        "spark.sql.shuffle.partitions": str(_partitions(master)),
        "spark.python.worker.reuse": "true",
    }
    log = scratch / "spark.log"
    try:
        with _stderr_to(log):
            return _session(master, settings, scratch)
    except (PySparkException, Py4JError, OSError, RuntimeError) as error:
        last = " ".join(log.read_text(errors="replace").split())[-300:]
        message = f"Spark does not start on {master}: {error}. {last} Check JAVA_HOME, or unset it to use our Java."
        raise EngineUnavailable(message) from error


def _session(master: str, settings: Mapping[str, str], scratch: Path) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    global _jvm
    conf = SparkConf().setMaster(master).setAppName("Changelog Studio").setAll(list(settings.items()))
    # In two steps, so that the JVM is guarded before it does anything.
    SparkContext._ensure_initialized(conf=conf)
    process = getattr(SparkContext._gateway, "proc", None)
    if _jvm is None and process is not None:
        _jvm = GuardedJvm(process, scratch)
    return SparkSession.builder.config(conf=conf).getOrCreate()


def _expect_end() -> None:
    """Keep PySpark's accumulator thread from printing the end of the JVM as a traceback."""
    from pyspark import SparkContext

    if (context := SparkContext._active_spark_context) is not None:
        context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]


def _forget() -> None:
    """Make PySpark forget a JVM that has ended: it would go on asking that one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession
    from pyspark.sql.context import SQLContext

    global _jvm
    _jvm = None
    _started.clear()
    if (context := SparkContext._active_spark_context) is not None:
        # Without its Java half only the Python one is stopped; asking the other for anything is an error now.
        context._jsc = None
        context.stop()
    if (gateway := SparkContext._gateway) is not None:
        gateway.close(keep_callback_server=True, close_callback_server_connections=True)
        gateway.shutdown_callback_server()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None
    SQLContext._instantiatedContext = None


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """The JVM inherits this process's stderr for good and greets on it: let it have a file."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _silence() -> None:
    """PySpark logs what the analyzer refuses to stderr, as JSON; here it is a sentence for whoever asked."""
    from pyspark.logger import PySparkLogger

    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger("py4j").setLevel(logging.ERROR)


@cache
def _java_home() -> str:
    """Where the Java is. Looked for once: each candidate is started, and takes a third of a second."""
    return environment()["JAVA_HOME"]


def _memory() -> str:
    return os.environ.get("CHANGELOG_STUDIO_MEMORY", "4g")


def _partitions(master: str) -> int:
    """One shuffle partition per core: kernels hold one key at a time, so partitions need not be small."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    return int(inside) if inside.isdigit() else (os.cpu_count() or 4)


def _connect(address: str) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    _knock(address)
    try:
        # Not the session of pyspark.sql.connect: this builder also turns pyspark.sql.functions to the server.
        session = SparkSession.builder.remote(address).getOrCreate()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
    except (PySparkException, OSError, RuntimeError) as error:
        message = f"there is no Spark Connect server at {address}: {error}. Start one, or use local[*]."
        raise EngineUnavailable(message) from error
    return session


def _knock(address: str) -> None:
    """Raise EngineUnavailable where nobody listens: the client itself would go on trying for minutes."""
    url = urlsplit(address)
    try:
        socket.create_connection((url.hostname or "", url.port or 15002), timeout=5).close()
    except (OSError, ValueError) as error:
        message = f"there is no Spark Connect server at {address}: {error}. Start one, or use local[*]."
        raise EngineUnavailable(message) from error
