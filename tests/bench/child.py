"""Runs one measurement in a fresh process, with a time limit, and observes its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from tests.bench import process_tree
from tests.bench.measured import Job, Measured

_ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Ended:
    """The result of a process: its measurement, or why there is none. peak: bytes by role (`process_tree.Peak`)."""

    side: str
    measured: Measured | None
    why: str = ""
    peak: Mapping[str, float] = field(default_factory=dict)


def measure(
    side: str,
    job: Job,
    *,
    limit_s: float,
    environ: Mapping[str, str] | None = None,
) -> Ended:
    """Run `tests.bench.<side>` with this job. environ: additional environment variables."""
    with tempfile.TemporaryDirectory(prefix="side-", dir=job.scratch, ignore_cleanup_errors=True) as scratch:
        report, log, engines = (Path(scratch) / name for name in ("report.json", "log.txt", "engines"))
        given = json.dumps(asdict(job) | {"scratch": scratch})
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", f"tests.bench.{side}", given, str(report)],
                cwd=_ROOT,
                env={**os.environ, "TMPDIR": scratch, FOLDER_ENVIRONMENT: str(engines), **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        peak = process_tree.Peak(process.pid)
        peak.start()
        try:
            status = process.wait(limit_s)
            _end_servers(engines)
            process_tree.let_end(process.pid)
            why = "" if status == 0 else f"status {status}: {_last_line(log)}"
        except subprocess.TimeoutExpired:
            why = f"no end within {limit_s:g} s"
        finally:
            if process.returncode is None:
                process_tree.kill(process.pid)
                process.wait()
            peak.stop()
        measured = Measured.from_json(report.read_text()) if not why else None
        return Ended(side, measured, why, peak.bytes)


def _end_servers(folder: Path) -> None:
    """End the Spark servers that a side has started, so that the next side has the machine to itself."""
    for server in servers(folder):
        server.close(20)


def _last_line(log: Path) -> str:
    """The last line of a failed process's output. Prints the end of the output to standard error."""
    said = log.read_text(errors="replace").rstrip()
    sys.stderr.write(f"{said[-2000:]}\n")
    return said.rpartition("\n")[2].strip() or "it said nothing"
