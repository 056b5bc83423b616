"""A cancelled run comes back although Spark does not: its JVM is ended, and the next session has another."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

# A process of its own: the session of the other tests is not to be ended. Sleeping in the JVM is what no cancelling
# reaches, as planning is.
PROGRAM = """
import threading, time
from engine.spark import session
from engine.spark import engine_adapter

engine_adapter.PATIENCE_S = 0.5
spark = session.get_spark("local[1]")
cancel = threading.Event()
threading.Timer(0.5, cancel.set).start()
began = time.monotonic()
try:
    with engine_adapter.cancellable(spark, "run-1", cancel):
        spark._jvm.java.lang.Thread.sleep(600_000)
except Exception:
    print(time.monotonic() - began < 120)
print(session.get_spark("local[1]") is spark, session.get_spark("local[1]").range(10).count())
"""


@pytest.mark.slow
def test_a_run_that_is_stuck_in_the_jvm_ends_and_the_next_one_starts_anew() -> None:
    said = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.stdout.split() == ["True", "False", "10"], said.stderr
    assert said.stderr == ""
