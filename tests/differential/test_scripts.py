"""The gallery's scripts run unchanged in Flink: the output of their print sinks equals our changelog.

CHANGELOG_STUDIO_FLINK=<python with apache-flink>  pytest tests/differential/test_scripts.py
"""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from engine.examples import examples
from engine.running import finished
from tests.engine.script.scripts import written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FLINK: Final = os.environ.get("CHANGELOG_STUDIO_FLINK", "")
# The results of the others depend on the interleaving of sources (06) or on mini-batch (07), or need upserts (09).
SAME: Final = (
    "01-word-frequency",
    "02-window-late-record",
    "03-window-lost-records",
    "04-window-nothing-lost",
    "05-window-join",
    "08-top-3",
)


@pytest.mark.slow
def test_the_script_of_an_example_gives_its_changelog_in_flink(spark: SparkSession, tmp_path: Path) -> None:
    if not FLINK:
        pytest.skip("not run: CHANGELOG_STUDIO_FLINK names no interpreter with apache-flink")
    files = []
    for name in SAME:
        file = tmp_path / f"{name}.sql"
        file.write_text(written(examples()[name], spark).text, encoding="utf-8")
        files.append(str(file))
    script = Path(__file__).parent / "flink_scripts.py"
    done = subprocess.run([FLINK, str(script), *files], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    got: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if line.startswith("## "):
            got[line[3:]] = printed = []
        elif line[:3] in ("+I[", "-U[", "+U[", "-D["):
            printed.append(line)
    assert got == {name: _ours(name, spark) for name in SAME}


def _ours(name: str, spark: SparkSession) -> list[str]:
    pipeline = examples()[name]
    above = {edge.source for edge in pipeline.edges}
    (sink,) = (node.id for node in pipeline.nodes if node.id not in above)
    with finished(pipeline, spark, Path()) as job:
        rows = job.changelog(sink).collect()
    return [f"{row['kind']}[{', '.join(map(_printed, tuple(row)[2:]))}]" for row in rows]


def _printed(value: Any) -> str:
    """A value in Java's text form."""
    match value:
        case None:
            return "null"
        case datetime():
            # Spark returns an instant as the local time of this machine.
            instant = value.astimezone(UTC).replace(tzinfo=None)
            return f"{instant.isoformat(timespec='milliseconds' if instant.microsecond else 'seconds')}Z"
        case list():
            return f"[{', '.join(map(_printed, value))}]"
        case _:
            return str(value)
