"""Kills the app while a live and a bounded run go on, kills their workers, and sets the clock back and forth.

    python -m tests.bench.bench_app_kills [--what app workers clock] [--times 50] [--seed 1]

At the end the live run has to say what a bounded run over the same records says, and each bounded run has to have
whole epochs of what an undisturbed one has. Not part of the test run.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import duckdb

from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from tests.live.killing import Killing

WHAT: Final = ("app", "workers", "clock")
ENGINE: Final = "local[2]"
_ROOT: Final = Path(__file__).resolve().parents[2]
_LONGEST_S: Final = 300


class AppKilling(Killing):
    """The live run of `tests.bench.app_side`."""

    def once(self, what: str, times: int) -> None:
        """Start the app, and disturb it so many times."""
        clock = ["--clock", str(self.seed)] if what == "clock" else []
        command = [sys.executable, "-m", "tests.bench.app_side", str(self.folder), ENGINE, *clock]
        with subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                for _ in range(times):
                    self.append(20)
                    self._heard(process, "clock" if what == "clock" else "epoch")
                    self.append(self.chance.randrange(5, 30))
                    time.sleep(self.chance.uniform(0, 1.5))
                    self.kills += 1
                    if what == "workers" and (workers := _workers()):
                        os.kill(self.chance.choice(workers), signal.SIGKILL)
                    if what == "app":
                        return
                    sys.stdout.write(f"{what} {self.kills}\n")
                    sys.stdout.flush()
                self.finish(process)
            finally:
                process.kill()

    def finish(self, process: subprocess.Popen[str]) -> None:
        """Write what is left, let the run take it, and end."""
        assert process.stdin is not None
        self._feed.write(self.folder, self.text)
        self._heard(process, "epoch")
        process.stdin.write("end\n")
        process.stdin.flush()
        self._heard(process, "finished")

    def ended(self) -> None:
        """Start it a last time, and let it end."""
        self.text += "a,1,1\n"
        with subprocess.Popen(
            [sys.executable, "-m", "tests.bench.app_side", str(self.folder), ENGINE],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            self.finish(process)

    def _heard(self, process: subprocess.Popen[str], word: str) -> None:
        assert process.stdout is not None
        until = time.monotonic() + _LONGEST_S
        for line in process.stdout:
            if line.startswith(word):
                return
            if line.startswith("ended"):
                sys.stdout.write(line)
            assert time.monotonic() < until, f"no {word} for {_LONGEST_S} s"
        message = f"the app ended with {process.wait()}, without {word}"
        raise AssertionError(message)

    def torn(self) -> list[str]:
        """The bounded runs that do not have whole epochs of what a finished one has."""
        with duckdb.connect(str(self._store), read_only=True) as connection:
            known = connection.execute("SELECT run_id, status FROM runs WHERE run_id > 1 ORDER BY 1").fetchall()
            whole: list[object] = []
            found: list[str] = []
            for run_id, _ in sorted(known, key=lambda each: each[1] != "finished"):
                edges = connection.execute(f"SELECT 1 FROM duckdb_tables() WHERE schema_name = 'run_{run_id}'")
                rows = connection.execute(f"FROM run_{run_id}.counted").fetchall() if edges.fetchone() else []
                last = connection.execute("SELECT max(last_seq) FROM run_epochs WHERE run_id = ?", [run_id]).fetchone()
                whole = whole or rows
                expected = [row for row in whole if row[0] <= ((last and last[0]) or 0)]  # type: ignore[index]
                if rows != expected:
                    found.append(f"run {run_id}")
        sys.stdout.write(f"{len(known)} bounded runs, {sum(each[1] == 'finished' for each in known)} finished\n")
        return found


def _workers() -> list[int]:
    """The Python workers of the engine."""
    jvms = {server.jvm for server in servers()}
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    daemons = {pid for pid, parent in parents.items() if parent in jvms}
    return [pid for pid, parent in parents.items() if parent in daemons]


def main() -> int:
    """Disturb, and compare. Returns 1 if something differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_app_kills")
    parser.add_argument("--what", nargs="+", choices=WHAT, default=list(WHAT))
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    is_wrong = False
    for what in args.what:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kills-") as name:
            os.environ[FOLDER_ENVIRONMENT] = str(Path(name) / "servers")
            (Path(name) / "run").mkdir()
            killing = AppKilling(Path(name) / "run", args.seed, ENGINE, on_spark=True)
            try:
                if what == "app":
                    for at in range(args.times):
                        killing.once(what, 1)
                        sys.stdout.write(f"app {at + 1}\n")
                        sys.stdout.flush()
                    killing.ended()
                else:
                    killing.once(what, args.times)
                wrong = [*killing.differences(), *killing.torn(), *killing.leftovers()]
            finally:
                for server in servers():
                    server.close(20)
        is_wrong |= bool(wrong)
        said = f"wrong: {', '.join(wrong)}" if wrong else "nothing is lost, twice, or left behind"
        sys.stdout.write(f"{what}, seed {args.seed}: {args.times} times in {time.monotonic() - began:.0f} s; {said}\n")
        sys.stdout.flush()
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
