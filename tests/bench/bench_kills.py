"""A live run that is killed again and again: with how many kills its changelog is still that of a bounded run.

    python -m tests.bench.bench_kills [--kills 200] [--engine-kills 10] [--seed 1] [--in-process]

Kills the process of the command line, and now and then the JVM of its engine, at random moments while a folder grows.
The pipeline has a window, a join and a Top N. Not part of the test run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from tests.live.killing import Killing


def main() -> int:
    """Kill as often as asked for, and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_kills")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--engine-kills", type=int, default=10, help="so many of them end the JVM")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-process", action="store_true", help="without tasks of Spark, which is faster")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as name:
        os.environ[FOLDER_ENVIRONMENT] = str(Path(name) / "servers")
        killing = Killing(Path(name), args.seed, "local[2]", not args.in_process)
        began = time.monotonic()
        every = args.kills // args.engine_kills if args.engine_kills else 0
        try:
            for at in range(1, args.kills + 1):
                killing.kill(killing.chance.uniform(0, 4), server=bool(every) and at % every == 0)
                sys.stdout.write(f"kill {at} of {args.kills}, after {time.monotonic() - began:.0f} s\n")
                sys.stdout.flush()
            killing.end()
            different = killing.differences()
        finally:
            for server in servers():
                server.close(20)
    said = f"different tables: {', '.join(different)}" if different else "the changelog is that of a bounded run"
    sys.stdout.write(f"seed {args.seed}: {killing.kills} kills; {said}\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
