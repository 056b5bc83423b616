"""A warm-up run: it loads Spark's classes, compiles its hot paths and starts its Python workers.

The first run of a session takes several times as long as the next. Users read for a while before they press
Run, which is long enough for this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.contract.recorder import Nobody
from engine.examples import FOLDER, examples
from engine.expressions.analyzer import TypeRules
from engine.planner import plan
from engine.runtime import run
from engine.scratch import scratch
from engine.spark.run_files import LocalFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def rehearse(spark: SparkSession) -> None:
    """Run the first example and discard its output."""
    first = next(iter(examples().values()))
    planned = plan(first, TypeRules(), FOLDER)
    with scratch("rehearsal") as work:
        run(planned, spark=spark, recorder=Nobody(), folder=FOLDER, files=LocalFiles(work))
