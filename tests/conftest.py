"""Fixtures for every folder. What needs Spark asks for `spark`; the rest starts without importing it."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# For the app's processes too, which the browser tests start: no test waits for an archive, or leaves one behind.
os.environ["CHANGELOG_STUDIO_ARCHIVE"] = "off"
# One server of Spark for all tests and for the apps that they start, and none of those that somebody works with.
_SERVERS = "CHANGELOG_STUDIO_SERVERS"
_is_first = _SERVERS not in os.environ
if _is_first:
    os.environ[_SERVERS] = tempfile.mkdtemp(prefix="changelog-studio-servers-")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the servers, once all tests have."""
    if not _is_first:
        return
    from engine.spark.servers import servers

    for server in servers():
        server.close(20)
    shutil.rmtree(os.environ[_SERVERS], ignore_errors=True)


# Of a job of ten rows, compiling its stages to Java takes half of the CPU. The apps of the browser tests and the golden
# traces run compiled, as everybody's do.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

# What waits most (for servers, browsers, kills) begins first, so that the end is not one process waiting for one test.
_FIRST = ("remote", "live", "browser")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the files for `--no-loadscope-reorder`; every process has to find the same order."""
    tests = config.rootpath / "tests"
    items.sort(key=lambda item: item.path.relative_to(tests).parts[0] not in _FIRST)


@pytest.fixture(scope="session")
def spark() -> SparkSession:
    """A session on the engine that all tests share, started when the first test asks for it."""
    from engine.spark.session import get_spark

    session = get_spark("local[2]")
    for name, value in INTERPRETED.items():
        session.conf.set(name, value)
    return session


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden traces anew")
    parser.addoption("--cases", metavar="DIR", help="run the conformance cases of this folder instead of our own")
