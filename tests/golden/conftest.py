"""`--update-golden` rewrites the traces instead of comparing; review the difference like code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.conftest import INTERPRETED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="package", autouse=True)
def compiled(spark: SparkSession) -> Iterator[None]:
    """Spark as it runs for everybody."""
    for name in INTERPRETED:
        spark.conf.unset(name)
    yield
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))
