"""Runs thousands of malformed inputs through the command line's entry, in one warm process under a memory limit.

    python -m tests.bench.attack [--count 10000] [--seed 1] [--from 0] [--kinds csv parquet ...] [--memory-mib 4096]

Prints each input that is handled wrongly: with a traceback, output of Spark or Java, more than a minute, an unexpected
exit status, or the end of the process. `--from N --count 1` repeats one input. Not part of the test run, which has a
hundred of the inputs (`tests/engine/test_malformed.py`).
"""

from __future__ import annotations

import argparse
import faulthandler
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence

from engine.spark.session import get_spark
from tests.attacking import ENGINE, LIMIT_S, complaint
from tests.malformed import KINDS, malformed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all inputs and print the failures. Returns 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.attack")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first", metavar="N")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--memory-mib", type=int, default=4096, help="data that the process may have")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(arguments)
    if args.worker:
        return _work(args)
    began, number = time.monotonic(), args.first
    end = args.first + args.count
    counts: Counter[str] = Counter()
    while number < end:
        command = [
            *(sys.executable, "-m", "tests.bench.attack", "--worker", "--kinds", *args.kinds),
            *("--seed", str(args.seed), "--from", str(number), "--count", str(end - number)),
            *("--memory-mib", str(args.memory_mib)),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as worker:
            assert worker.stdout is not None
            for line in worker.stdout:
                told, _, said = line.rstrip("\n").partition(" ")
                if said:
                    _say(args, int(told), said, counts)
                number = int(told) + 1
                if number % 100 == 0:
                    sys.stdout.write(f"{number} after {time.monotonic() - began:.0f} s\n")
                    sys.stdout.flush()
        if worker.returncode and number < end:
            # The input after the last reported one.
            _say(args, number, f"the process ended with {worker.returncode}", counts)
            number += 1
    took = time.monotonic() - began
    kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none"
    sys.stdout.write(f"seed {args.seed}: {args.count} inputs in {took:.0f} s; not as they should be: {kinds}\n")
    return 1 if counts else 0


def _say(args: argparse.Namespace, number: int, what: str, counts: Counter[str]) -> None:
    given = malformed(args.seed, number, args.kinds)
    counts[given.kind] += 1
    sys.stdout.write(f"seed {args.seed}, number {number} ({given.kind}: {' '.join(given.arguments)}): {what}\n")
    sys.stdout.flush()


def _work(args: argparse.Namespace) -> int:
    limit = args.memory_mib << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    # The engine starts before anything is timed.
    get_spark(ENGINE)
    for number in range(args.first, args.first + args.count):
        # Ends an input that does not react to a signal.
        faulthandler.dump_traceback_later(2 * LIMIT_S, exit=True)
        said = complaint(malformed(args.seed, number, args.kinds))
        sys.stdout.write(f"{number} {' '.join((said or '').split())}\n")
        sys.stdout.flush()
    faulthandler.cancel_dump_traceback_later()
    return 0


if __name__ == "__main__":
    sys.exit(main())
