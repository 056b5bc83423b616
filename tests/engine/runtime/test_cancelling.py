"""A cancelled run comes back although Spark does not: its server is ended, and the next session has another."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# A server of its own: that of the other tests is not to be ended. A stopped JVM is as deaf as one that is planning, or
# that does nothing but collect garbage.
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
    said = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert said.stdout.split() == ["True", "False", "10"], said.stderr
    assert said.stderr == ""
