"""The app's runs in a process that others kill: one live run, and one bounded run after the other.

    python -m tests.bench.app_side FOLDER ENGINE [--clock SEED]

The folder has `pipeline.json` and the store `live.duckdb`; its first run is the live one. Prints a line for each state
of it. `end` on the standard input ends it. --clock: the clock of this process is set back and forth, by up to a day.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import grpc._channel

from engine.contract.live import Live
from engine.model.pipeline import Pipeline
from storage import Store
from tests.engine.planning import counted_numbers
from ui.runs.leftovers import remove_folders
from ui.runs.manager import RunManager

ROWS, KEYS, EPOCHS = 20_000, 300, 4


def set_clock(seed: int) -> None:
    """Set it anew several times a second."""
    chance, real, offset = random.Random(seed), time.time, [0.0]
    time.time = lambda: real() + offset[0]
    # gRPC's own code adds its timeouts to this clock, and its library, which has the machine's, reads them.
    grpc._channel.time = SimpleNamespace(**{**vars(time), "time": real})

    def turn() -> None:
        for number in range(1 << 30):
            offset[0] = chance.uniform(-86_400, 86_400)
            say(f"clock {number}")
            time.sleep(0.5)

    threading.Thread(target=turn, daemon=True).start()


def say(line: str) -> None:
    """To whoever kills this process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run until told to end. Returns 1 if the live run fails for another reason than a lost worker."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("engine")
    parser.add_argument("--clock", type=int)
    args = parser.parse_args()
    if args.clock is not None:
        set_clock(args.clock)
    with Store.open(args.folder / "live.duckdb") as store:
        manager = RunManager(store, folder=args.folder)
        remove_folders(manager.work)
        if store.runs.list():
            manager.resume(1)
        else:
            document = (args.folder / "pipeline.json").read_text(encoding="utf-8")
            live = Live(interval_ms=1, records=10)
            assert manager.start(Pipeline.from_json(document), master=args.engine, live=live) == 1
        told = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.readline(), told.set()), daemon=True).start()
        epochs, bounded = store.runs.get(1).epochs_done, 0
        say("begun")
        while not told.wait(0.05):
            run = store.runs.get(1)
            if run.epochs_done > epochs:
                epochs = run.epochs_done
                say(f"epoch {epochs}")
            if not run.goes_on:
                say(f"ended: {run.error}")
                if "a Spark worker ended unexpectedly" not in run.error:
                    return 1
                manager.resume(1)
            if bounded == 0 or not store.runs.get(bounded).goes_on:
                bounded = manager.start(counted_numbers(ROWS, KEYS), master=args.engine, epochs=EPOCHS)
        manager.cancel(bounded)
        for _ in range(5):
            control = manager.control(1)
            if control is not None:
                control.stop(end=True)
            assert manager.wait(1, 300)
            if not store.runs.get(1).can_resume:
                break
            manager.resume(1)
        manager.close()
        say(store.runs.get(1).status.value)
    return 0


if __name__ == "__main__":
    sys.exit(main())
