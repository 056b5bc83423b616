"""Cancelled runs that do not end by themselves, and leftovers of a killed process on a server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from engine.spark.cancelling import cancellable
from engine.spark.session import server_of
from tests.python_child import run_python

ROOT = Path(__file__).resolve().parents[3]

# A separate server, since that of the other tests must not be ended. A stopped JVM reacts as little as one that is
# planning, or that only collects garbage.
PROGRAM = """
import os, signal, threading, time
from engine.spark import cancelling, session

cancelling.PATIENCE_S = 0.5
spark = session.get_spark("local[1]")
cancel = threading.Event()
threading.Timer(0.5, cancel.set).start()
began = time.monotonic()
try:
    with cancelling.cancellable(spark, "run-1", cancel):
        os.kill(session.server_of(spark).jvm, signal.SIGSTOP)
        spark.range(10).count()
except Exception:
    print(time.monotonic() - began < 120)
print(session.get_spark("local[1]") is spark, session.get_spark("local[1]").range(10).count())
session.server_of(session.get_spark("local[1]")).close(20)
"""


@pytest.mark.slow
def test_a_run_that_is_stuck_in_the_jvm_ends_and_the_next_one_starts_anew(tmp_path: Path) -> None:
    environ = {**os.environ, "CHANGELOG_STUDIO_SERVERS": str(tmp_path)}
    said = run_python(PROGRAM, environ)
    assert said.stdout.split() == ["True", "False", "10"], said.stderr
    assert said.stderr == ""


def test_a_request_to_cancel_that_fails_is_made_again() -> None:
    asked: list[str] = []
    cancel, heard = Event(), Event()

    class Unreachable:
        """A session whose first request fails, as in a network that is cut."""

        def addTag(self, tag: str) -> None:
            pass

        removeTag = addTag

        def interruptTag(self, tag: str) -> None:
            asked.append(tag)
            if len(asked) == 1:
                message = "Connection reset by peer"
                raise ConnectionError(message)
            heard.set()

    spark: Any = Unreachable()
    with cancellable(spark, "run-1", cancel):
        cancel.set()
        assert heard.wait(5)
    assert set(asked) == {"run-1"}


# Its tasks occupy both cores of the server, and only an interruption ends them.
HELD = """
import threading, time
from engine.spark import cancelling, session

def wait(batches):
    for batch in batches:
        time.sleep(3600)
        yield batch

spark = session.get_spark("local[2]")
threading.Timer(1, print, ["there"], {"flush": True}).start()
with cancelling.cancellable(spark, "left", threading.Event()):
    spark.range(0, 2, 1, 2).mapInPandas(wait, "id LONG").collect()
"""


@pytest.mark.slow
def test_what_a_killed_process_has_left_on_the_server_is_ended_by_the_next_run(spark: SparkSession) -> None:
    server = server_of(spark)
    assert server is not None
    killed = subprocess.Popen([sys.executable, "-c", HELD], cwd=ROOT, stdout=subprocess.PIPE)
    assert killed.stdout is not None
    with killed.stdout as said:
        assert said.readline() == b"there\n"
    assert (server.folder / "jobs" / "left").exists()
    killed.kill()
    killed.wait()

    def same(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        yield from batches

    with cancellable(spark, "next", Event()):
        # Without a cancellation, Spark would release the leftovers of a client only after three minutes.
        assert spark.range(0, 4, 1, 2).mapInPandas(same, "id LONG").count() == 4
    assert not (server.folder / "jobs" / "left").exists()
    assert not (server.folder / "jobs" / "next").exists()
