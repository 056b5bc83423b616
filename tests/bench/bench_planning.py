"""Measures what planning costs: `python -m tests.bench.bench_planning`.

Scripts of many views, each read and planned in a process of its own without a Spark session, in CPU seconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.engine.script.test_chains import beside, chain, planned


def cases(count: int) -> str:
    """A query of so many columns, each a CASE of three branches."""
    items = (f"CASE WHEN v > {at} THEN 'a' WHEN v < -{at} THEN k ELSE 'c' END AS c{at}" for at in range(count))
    return f"SELECT {', '.join(items)} FROM t;"


SCRIPTS: Final = {
    "100 chained views": chain(100, "v + 1"),
    "100 chained views with CAST": chain(100, "CAST(v + 1 AS BIGINT)"),
    "300 views side by side": beside(300),
    "400 columns of CASE": cases(400),
}


def main(name: str) -> None:
    """Plan one script, after a small one that loads the modules."""
    with tempfile.TemporaryDirectory() as folder:
        planned(chain(2, "v + 1"), Path(folder))
        begun = time.process_time()
        planned(SCRIPTS[name], Path(folder))
        sys.stdout.write(f"{name:30} {time.process_time() - begun:5.2f} CPU s\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        for each in SCRIPTS:
            subprocess.run([sys.executable, "-m", "tests.bench.bench_planning", each], check=True)
