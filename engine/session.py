"""The Spark session: embedded, standalone or Spark Connect, quiet, and on the running interpreter.

local[2], local[*], spark://host:port      a JVM of our own (engine.java finds or brings it)
sc://host:port                             Spark Connect; no Java needed here
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from engine.errors import EngineUnavailable

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
_started: dict[str, SparkSession] = {}


def get_spark(master: str = DEFAULT_MASTER) -> SparkSession:
    """The session on this engine, started at the first call (about 4 s) and shared after.

    Raises EngineUnavailable with a sentence: no Java, nothing at that address, another engine is running.
    """
    with _LOCK:
        if master not in _started:
            _silence()
            if _started:
                other = next(iter(_started))
                message = f"this process already runs the engine {other}; restart it to use {master}."
                raise EngineUnavailable(message)
            _started[master] = _connect(master) if master.startswith("sc://") else _start(master)
        return _started[master]


def _start(master: str) -> SparkSession:
    from engine.java import environment

    os.environ.update(environment())
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
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("Changelog Studio")
    for name, value in {
        **_SETTINGS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.memory": os.environ.get("CHANGELOG_STUDIO_MEMORY", "4g"),
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={logging_file.as_uri()} -Dderby.system.home={scratch} "
            f"-Djava.io.tmpdir={scratch} -XX:+UseG1GC"
        ),
        "spark.sql.shuffle.partitions": str(_partitions(master)),
        "spark.python.worker.reuse": "true",
    }.items():
        builder = builder.config(name, value)
    log = scratch / "spark.log"
    try:
        with _stderr_to(log):
            return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        last = " ".join(log.read_text(errors="replace").split())[-300:]
        message = f"Spark does not start on {master}: {error}. {last} Check JAVA_HOME, or unset it to use our Java."
        raise EngineUnavailable(message) from error


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
    found = urlsplit(address)
    try:
        socket.create_connection((found.hostname or "", found.port or 15002), timeout=5).close()
    except (OSError, ValueError) as error:
        message = f"there is no Spark Connect server at {address}: {error}. Start one, or use local[*]."
        raise EngineUnavailable(message) from error
