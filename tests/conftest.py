"""Fixtures for every folder. What needs Spark asks for `spark`; the rest starts without importing it."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# One server of Spark for all tests and for the apps that they start, and none of those that somebody works with. None
# of them waits for an archive of classes, or leaves one in the user's folder.
_SERVERS = "CHANGELOG_STUDIO_SERVERS"
_ARCHIVE = "CHANGELOG_STUDIO_ARCHIVE"
# No JVM of a test runs for long enough to win back what Java's second compiler takes: ten seconds of CPU. Without it,
# Java's room for compiled code is 48 MB: once it is full, methods are dropped and compiled again. Java also looks for
# garbage whenever the classes, which all stay, have filled the room that it starts with, of 21 MB.
ONE_COMPILER = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:MetaspaceSize=256m")
_is_first = _SERVERS not in os.environ
if _is_first:
    os.environ[_SERVERS] = tempfile.mkdtemp(prefix="changelog-studio-servers-")
    os.environ[_ARCHIVE] = "off"
    os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(ONE_COMPILER))
_ARCHIVING = pytest.StashKey[subprocess.Popen[bytes] | None]()


class FailuresAtOnce:
    """Names each failure when it happens: a run that does not end has no summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Print a line per failure, and per failure of a test that is tried again."""
        terminal = self._config.pluginmanager.get_plugin("terminalreporter")
        if terminal is None or report.outcome not in ("failed", "rerun"):
            return
        lines = report.longreprtext.strip().splitlines()
        reason = next((line[1:].strip() for line in lines if line.startswith("E ")), lines[-1] if lines else "")
        terminal.write_line(f"\n{report.outcome} {report.nodeid} ({report.when}): {reason[:300]}")


def pytest_configure(config: pytest.Config) -> None:
    """Have an archive of classes made for the many JVMs of the whole suite, while its first tests run."""
    if not _is_first or not config.getoption("numprocesses", None):
        return
    config.pluginmanager.register(FailuresAtOnce(config))
    from engine.runtime.archiving import make_in_background

    os.environ[_ARCHIVE] = tempfile.mkdtemp(prefix="changelog-studio-classes-")
    config.stash[_ARCHIVING] = make_in_background(0)


def pytest_collection_finish() -> None:
    """Leave out of garbage collection what lives until the end, and look for garbage less often.

    Each saves a tenth of Python's CPU: all tests are a lot to look through, and trees of queries and rows of tables are
    a lot of short-lived objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the servers, once all tests have."""
    gc.unfreeze()
    if not _is_first:
        return
    from engine.spark.servers import servers

    for server in servers():
        server.close(20)
    shutil.rmtree(os.environ[_SERVERS], ignore_errors=True)
    if (archiving := session.config.stash.get(_ARCHIVING, None)) is not None:
        # It ends early when the pipe to it does.
        archiving.communicate()
        shutil.rmtree(os.environ[_ARCHIVE], ignore_errors=True)


# Of a job of ten rows, compiling its stages to Java takes half of the CPU, and adaptive execution, which plans every
# stage anew, a third of what is left. The apps of the browser tests and the golden traces run as everybody's do.
INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


def interpreted() -> dict[str, str]:
    """Variables with which a server of ours starts like that: one of a test alone, whose first jobs are its last."""
    given = os.environ.get("SPARK_SUBMIT_OPTS", "")
    return {"SPARK_SUBMIT_OPTS": " ".join([given, *(f"-D{name}={value}" for name, value in INTERPRETED.items())])}


# What starts no JVM comes first, until there is an archive of classes. What waits for servers and kills is spread over
# the rest, which computes: one process does while the other waits. It ends before the rest does, so that the end is not
# one process waiting for one test.
_BROWSER = "browser"
_FIRST = (_BROWSER, "storage")
_SHARES_A_SERVER = "remote"
_WAITING = (_SHARES_A_SERVER, "live")
_WAITS_UNTIL = 0.8


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the files for `--no-loadscope-reorder`; every process has to find the same order."""
    tests = config.rootpath / "tests"
    folders = {path: path.relative_to(tests).parts[0] for path in dict.fromkeys(item.path for item in items)}
    waiting = [path for path, folder in folders.items() if folder in _WAITING]
    rest = [path for path, folder in folders.items() if folder not in (*_FIRST, *_WAITING)]
    places = {path: float(_FIRST.index(folder)) for path, folder in folders.items() if folder in _FIRST}
    places |= {path: len(_FIRST) + at / len(rest) for at, path in enumerate(rest)}
    places |= {path: len(_FIRST) + at / len(waiting) * _WAITS_UNTIL for at, path in enumerate(waiting)}
    items.sort(key=lambda item: places[item.path])


class OneBrowser(LoadFileScheduling):
    """A file at a time to each process; the first one drives the browser, as long as there is something to drive.

    Two processes that drive browsers often wait for their pages at the same time, and the cores are idle. The files of
    a folder that share a server go to one process: each process would start its own.
    """

    def _split_scope(self, nodeid: str) -> str:
        folder = nodeid.rpartition("/")[0]
        return folder if folder == f"tests/{_SHARES_A_SERVER}" else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: WorkerController) -> None:
        drives = node is self.nodes[0]
        liked = (file for file in self.workqueue if (f"/{_BROWSER}/" in file) is drives)
        if (file := next(liked, None)) is not None:
            self.workqueue.move_to_end(file, last=False)
        super()._assign_work_unit(node)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneBrowser | None:
    """Distribute the files of the whole suite with one browser."""
    return OneBrowser(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """A session on the engine that all tests share, started when the first test asks for it."""
    from engine.spark.session import get_spark

    session = get_spark("local[2]")
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)
    return session


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store. A copy of it is opened in half of the time that a new one takes."""
    from storage import Store

    path = tmp_path_factory.mktemp("empty") / "studio.duckdb"
    Store.open(path).close()
    return path


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden traces anew")
    parser.addoption("--cases", metavar="DIR", help="run the conformance cases of this folder instead of our own")
