"""How a server of the studio's own is started: the command of its JVM, with all settings, and its environment."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from engine.spark.class_archive import QUIET
from engine.spark.java import environment
from engine.spark.memory import heap, worker_mb

# Of every session, on whatever engine; a server of ours starts with them.
SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    # TIME is a preview in Spark 4.3.
    "spark.sql.timeType.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    # Texts stay unchanged: Spark substitutes no `${env:...}`, and all quotes except backticks delimit texts.
    **dict.fromkeys(("spark.sql.variable.substitute", "spark.sql.ansi.doubleQuotedIdentifiers"), "false"),
}
# Part of the class archive's name: another garbage collector, for example, needs another archive.
#
# C2 begins ten times later than by default: a first run costs 12 to 14 CPU seconds for 16 (Java 25: 12 for 15), and
# large runs lose nothing: 4 M events through a shuffle, a sort, mapInArrow and Parquet 16 to 17 CPU seconds for 17 to
# 18, an aggregate of them in SQL 16 for 19 to 21 (two runs each, in turn). Not C1 alone (-XX:TieredStopAtLevel=1): 10
# CPU seconds for a first run, but 24 to 26 for these events, once warm 21 to 24 for 11 to 13, and 24 to 29 for the
# aggregate (three runs each, in turn).
FLAGS: Final = (
    "-XX:+UseG1GC",
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
    *QUIET,
)

_AT_ONCE: Final = 2


def command(master: str, scratch: Path, jvm_options: Sequence[str]) -> list[str]:
    """The command that starts a server on a master. scratch: its folder, for Spark's files."""
    from pyspark.find_spark_home import _find_spark_home

    logging_file = scratch / "log4j2.properties"
    logging_file.write_text(
        "rootLogger.level = error\nrootLogger.appenderRef.stderr.ref = console\n"
        "appender.console.type = Console\nappender.console.name = console\nappender.console.target = SYSTEM_ERR\n"
        "appender.console.layout.type = PatternLayout\nappender.console.layout.pattern = %d %p %c{1}: %m%n%ex{1}\n"
        "logger.task.name = org.apache.spark\nlogger.task.level = off\n"
        # The server prints its port.
        "logger.server.name = org.apache.spark.sql.connect.service.SparkConnectServer\nlogger.server.level = info\n"
    )
    java_options = [
        f"-Dlog4j2.configurationFile={logging_file.as_uri()}",
        f"-Dderby.system.home={scratch}",
        f"-Djava.io.tmpdir={scratch}",
        *FLAGS,
        *jvm_options,
    ]
    settings = {
        **SETTINGS,
        "spark.app.name": "Changelog Studio",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": "0",
        # The shared session ends with the server.
        "spark.connect.session.manager.defaultSessionTimeout": "3650d",
        # Work for a client that was killed stops soon.
        "spark.connect.execute.manager.detachedTimeout": "60s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.memory": heap(),
        # The server's JVM gets these, and only that: the one that prints its command line is not to write archives.
        "spark.driver.extraJavaOptions": shlex.join(java_options),
        # A record that takes all memory, or all of the stack, fails its task; other people's tasks go on.
        "spark.executor.killOnFatalError.depth": "0",
        # Jobs share the cores evenly: a short one gets the next that is free.
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": _fair_pool(scratch).as_uri(),
        "spark.python.worker.reuse": "true",
        # The code location of each column is not needed, and determining it is slow.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    if _is_here(master):
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    if master.startswith("local"):
        cores = cores_of(master)
        # Tasks that work long leave none free, so there are twice as many as one job uses: two people's jobs go on
        # side by side, and the system shares out the processors.
        at_once = _AT_ONCE * cores
        master = re.sub(r"\d+|\*", str(at_once), master, count=1)
        for setting in ("spark.sql.shuffle.partitions", "spark.default.parallelism"):
            settings[setting] = str(cores)
        settings["spark.executor.pyspark.memory"] = f"{worker_mb()}m"
        daemon = Path(__file__).with_name("worker_daemon.py")
        shutil.copy(daemon, scratch)
        settings["spark.python.daemon.module"] = daemon.stem
        # Spark's own ports are on the loopback interface as well, where other users of the machine could connect.
        settings["spark.authenticate"] = "true"
    return [
        str(Path(_find_spark_home()) / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "--master", master),
        *(part for name, value in settings.items() for part in ("--conf", f"{name}={value}")),
        "spark-internal",
    ]


def environment_of(master: str, token: str, scratch: Path) -> dict[str, str]:
    """The environment of a server. token: what its clients have to send."""
    from pyspark.find_spark_home import _find_spark_home

    given = {name: value for name, value in os.environ.items() if name not in _CLIENTS}
    # The executors of a cluster connect back to the driver, from anywhere.
    loopback = {"SPARK_LOCAL_IP": "127.0.0.1"} if _is_here(master) else {}
    return {
        **loopback,
        **given,
        # Only what is there is for the workers to import: our code reaches them by value.
        "PYTHONPATH": os.pathsep.join([str(scratch), *filter(None, [given.get("PYTHONPATH")])]),
        "SPARK_HOME": _find_spark_home(),
        "JAVA_HOME": java_home(),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
    }


def _is_here(master: str) -> bool:
    """Whether an engine runs entirely on this machine."""
    return master.startswith(("local", "spark://127.0.0.1", "spark://localhost"))


# PySpark marks client processes with these variables; a server is not a client.
_CLIENTS: Final = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE")


@cache
def java_home() -> str:
    """The home of the Java. Cached: starting each candidate takes a third of a second."""
    return environment()["JAVA_HOME"]


def _fair_pool(scratch: Path) -> Path:
    """The file that has jobs share the one pool that they all are in; by default, they queue in it."""
    file = scratch / "fairscheduler.xml"
    file.write_text(
        '<?xml version="1.0"?><allocations><pool name="default"><schedulingMode>FAIR</schedulingMode></pool>'
        "</allocations>\n",
        encoding="ascii",
    )
    return file


def cores_of(master: str) -> int:
    """The tasks of one job: one shuffle partition per core, as kernels hold one key at a time."""
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    return int(inside) if inside.isdigit() else (os.cpu_count() or 4)
