"""Fixtures for every folder. What needs Spark asks for `spark`; the rest starts without importing it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# For the app's processes too, which the browser tests start: no test waits for an archive, or leaves one behind.
os.environ["CHANGELOG_STUDIO_ARCHIVE"] = "off"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The engine's own Spark session, started when the first test asks for it."""
    from engine.spark.session import get_spark

    session = get_spark("local[2]")
    yield session
    session.stop()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden traces anew")
    parser.addoption("--cases", metavar="DIR", help="run the conformance cases of this folder instead of our own")
