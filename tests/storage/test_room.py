"""A run on a disk that will not hold its next epoch stops in time, with what it has."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from hashlib import sha512
from pathlib import Path

import pytest

from storage import Store
from storage.errors import NoRoomForEpoch
from tests.storage.written_runs import Epoch, columns, edge, plan

EVENTS = edge("events", columns(text="string"), watermark_delay_ms=0)
SIZE = 5_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def incompressible(seq: int) -> str:
    return sha512(b"%d" % seq).hexdigest()


def test_it_stops_after_an_epoch_and_keeps_all_of_them(small_disk: Path, tmp_path: Path) -> None:
    with Store.open(small_disk / "s.duckdb") as store:
        run = store.runs.create("large", "{}")
        recorder = store.record(run.run_id)
        recorder.begin(plan(EVENTS, epochs=100))
        done = 0

        def commit() -> None:
            rows = [(seq, b"", "+I", (incompressible(seq),)) for seq in range(done * SIZE + 1, (done + 1) * SIZE + 1)]
            recorder.commit(Epoch(done, {"events": rows}).write(tmp_path / "files", [EVENTS]))

        while True:
            try:
                commit()
            except NoRoomForEpoch as raised:
                error = raised
                break
            done += 1
        assert error.free < error.needed < 16e6
        assert str(error).startswith(f"the run was stopped after event {(done + 1) * SIZE:,}, up to which")
        recorder.fail(str(error))
        stored = store.runs.get(run.run_id)
        assert stored.epochs_done == done + 1 > 1
        assert store.runs.edge(run.run_id, "events").total == (done + 1) * SIZE
    # The file is whole.
    with Store.open(small_disk / "s.duckdb") as store:
        assert (
            store.changelog.page(run.run_id, "events", offset=(done + 1) * SIZE - 1).records[0].seq == (done + 1) * SIZE
        )
