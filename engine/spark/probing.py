"""Tests an engine: one finding after the other, each with advice if it does not fit.

reach      a session opens, and the latency of an answer
spark      the server's version compared with the client's: a client must not be newer than its server
python     Python, pyarrow and numpy of the workers compared with ours: functions travel as bytecode
compiler   whether the workers compile rules, or interpret them
cores      the number of tasks that run at once
workspace  a worker writes a file, which is returned unchanged, and removed
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import pyarrow as pa

from engine.columnar.rules import compiler
from engine.errors import EngineUnavailable
from engine.reading.files.storage import open_file
from engine.scratch import scratch
from engine.spark.engines import Engine
from engine.spark.run_files import files_of
from engine.spark.servers import server_for
from engine.spark.session import connect, older_than_ours, release
from engine.spark.workspace import writing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ROUNDS: Final = 5
_ANSWER: Final = "python STRING, pyarrow STRING, numpy STRING, compiler STRING"


class Fit(Enum):
    """The verdict of a finding."""

    GOOD = "good"
    # It works, but results or speed may suffer.
    DOUBTFUL = "doubtful"
    BROKEN = "broken"


@dataclass(frozen=True)
class Finding:
    """A result of the test. topic: from the list above. sentence: for users; advice: what to do, or ""."""

    topic: str
    fit: Fit
    sentence: str
    advice: str = ""


def probe(engine: Engine, opened: Callable[[SparkSession], None] = lambda session: None) -> Iterator[Finding]:
    """Test an engine, in a session that ends with the test. After a broken connection the test stops.

    opened: receives the session, so that the caller can close it to stop the test.
    """
    began = time.monotonic()
    try:
        server = server_for(engine.address) if engine.is_ours else None
        spark = connect(engine, server)
    except EngineUnavailable as error:
        yield Finding("reach", Fit.BROKEN, error.sentence)
        return
    opened(spark)
    took = time.monotonic() - began
    try:
        yield _round_trip(spark, took)
        yield _version(spark)
        yield from _workers(spark)
        yield _workspace(engine, spark)
    finally:
        if server is None:
            spark.stop()


def _round_trip(spark: SparkSession, opened_s: float) -> Finding:
    times = []
    for _ in range(_ROUNDS):
        began = time.monotonic()
        spark.conf.get("spark.sql.session.timeZone")
        times.append(1000 * (time.monotonic() - began))
    return Finding(
        "reach", Fit.GOOD, f"Connected in {opened_s:.1f} s; an answer takes {statistics.median(times):.0f} ms."
    )


def _version(spark: SparkSession) -> Finding:
    from pyspark import __version__

    if older := older_than_ours(spark):
        sentence, _, advice = older.partition(". ")
        return Finding("spark", Fit.BROKEN, f"{sentence[0].upper()}{sentence[1:]}.", advice)
    return Finding("spark", Fit.GOOD, f"The server runs Spark {spark.version}; the studio has {__version__}.")


def _workers(spark: SparkSession) -> Iterator[Finding]:
    from pyspark.errors import PySparkException

    from engine.spark.failures import reason_of

    def ask(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        import numpy as np

        for _ in batches:
            pass
        python = ".".join(map(str, sys.version_info[:3]))
        answer = {"python": [python], "pyarrow": [pa.__version__], "numpy": [np.__version__], "compiler": [compiler()]}
        yield pa.RecordBatch.from_pydict(answer, schema=pa.schema([(name, pa.string()) for name in answer]))

    try:
        rows = spark.range(0, 1 << 10).mapInArrow(ask, _ANSWER).collect()
    except PySparkException as error:
        advice = f"Give the workers Python {_ours()['python'].rpartition('.')[0]} with pyarrow and numpy."
        yield Finding("python", Fit.BROKEN, f"The workers cannot run Python functions: {reason_of(error)}", advice)
        return
    yield from _versions(rows[0].asDict())
    yield _compiler(rows[0]["compiler"])
    cores = len(rows)
    yield Finding("cores", Fit.GOOD, f"{cores} task{'s' * (cores > 1)} at once.")


def _versions(theirs: dict[str, Any]) -> Iterator[Finding]:
    ours = _ours()
    told = ", ".join(f"{name} {theirs[name]}" for name in ours)
    different = [f"{name} {ours[name]}" for name in ours if release(theirs[name]) != release(ours[name])]
    if not different:
        yield Finding("python", Fit.GOOD, f"The workers have {told}.")
        return
    # Spark itself rejects other minor versions of Python; those of libraries mostly work.
    advice = f"Install what the studio has: {', '.join(different)}."
    yield Finding(
        "python", Fit.DOUBTFUL, f"The workers have {told}; results may differ from the embedded engine's.", advice
    )


def _compiler(theirs: str | None) -> Finding:
    if theirs is not None:
        return Finding("compiler", Fit.GOOD, f"The workers compile rules for many records with {theirs}.")
    sentence = "The workers have no Numba that works: rules such as sessions are interpreted, with the same results."
    return Finding("compiler", Fit.DOUBTFUL, sentence, "Install numba where the workers run, to make them faster.")


def _workspace(engine: Engine, spark: SparkSession) -> Finding:
    from pyspark.errors import PySparkException

    from engine.spark.failures import reason_of

    with scratch("test") as folder:
        files = files_of(engine, spark, folder / "run", f"changelog-studio-test-{uuid4().hex}")
        where = engine.workspace or "this machine's files"
        try:
            sent = folder / "sent"
            content = uuid4().bytes * (1 << 16)
            sent.write_bytes(content)
            # Up, through a worker, and back, like a run's inputs and outputs.
            uploaded = files.send([sent])[str(sent)]
            copy = files.workspace.place("copy")
            began = time.monotonic()
            spark.range(1).mapInArrow(_copying(uploaded, copy), "id BIGINT").collect()
            back = files.bring([copy])[copy].read_bytes()
            seconds = time.monotonic() - began
        except (PySparkException, OSError) as error:
            text = reason_of(error) if isinstance(error, PySparkException) else str(error)
            advice = (
                "Choose a folder or URI that all workers can write."
                if engine.workspace
                else "Give the engine a workspace: a folder or URI that all of its workers can write."
            )
            return Finding("workspace", Fit.BROKEN, f"The workers cannot use {where}: {text}", advice)
        finally:
            if not files.are_here:
                files.remove()
        if back != content:
            return Finding("workspace", Fit.BROKEN, f"What a worker wrote to {where} came back changed.")
        return Finding(
            "workspace", Fit.GOOD, f"The workers read and write {where}; 1 MiB came back in {seconds:.1f} s."
        )


def _copying(source: str, target: str) -> Any:
    def copy(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            with open_file(source) as whole, writing(target) as file:
                file.write(whole.read())
            yield batch

    return copy


def _ours() -> dict[str, str]:
    import numpy as np

    python = ".".join(map(str, sys.version_info[:3]))
    return {"python": python, "pyarrow": pa.__version__, "numpy": np.__version__}
