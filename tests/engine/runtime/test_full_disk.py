"""A really full disk for temporary files: a clear error, an intact store, and no leftovers."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from hashlib import sha512
from pathlib import Path

import pytest

from storage import Store
from storage.model import RunStatus
from tests.conftest import INTERPRETED

ROOT = Path(__file__).resolve().parents[3]
Engine = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def engine(small_disk: Path, tmp_path: Path) -> Iterator[Engine]:
    """The command line, with Spark and its temporary files on the small disk."""
    # Of its jobs of some rows, compiling their stages takes most of the CPU time.
    settings = tmp_path / "conf" / "spark-defaults.conf"
    settings.parent.mkdir()
    settings.write_text("".join(f"{name} {value}\n" for name, value in INTERPRETED.items()))
    own = {
        "TMPDIR": str(small_disk),
        "CHANGELOG_STUDIO_SERVERS": str(tmp_path / "servers"),
        "SPARK_CONF_DIR": str(settings.parent),
    }

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "engine", *arguments]
        environ = os.environ | own
        return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=300)

    yield call
    call("servers", "--stop")


def counted(folder: Path, name: str, rows: int) -> str:
    """A pipeline that counts the words of a file. The words are long and incompressible."""
    (folder / f"{name}.csv").write_text("word\n" + "".join(f"{sha512(b'%d' % at).hexdigest()}\n" for at in range(rows)))
    count = {"group_by": ["word"], "aggregates": [{"function": "COUNT", "name": "n"}]}
    nodes = [("words", "csv", {"path": f"{name}.csv"}), ("counts", "aggregate", count), ("sink", "sink", {})]
    made = [{"id": node, "operator": operator, "parameters": given} for node, operator, given in nodes]
    edges = [{"source": "words", "target": "counts"}, {"source": "counts", "target": "sink"}]
    (folder / f"{name}.json").write_text(json.dumps({"nodes": made, "edges": edges}))
    return str(folder / f"{name}.json")


@pytest.mark.slow
def test_a_full_disk_of_temporary_files_is_a_sentence_and_the_next_run_is_fine(
    engine: Engine, small_disk: Path, tmp_path: Path
) -> None:
    small, large = counted(tmp_path, "small", 20), counted(tmp_path, "large", 60_000)
    store = str(tmp_path / "s.duckdb")
    to_all = ("--engine", "local[2]", "--format", "jsonl", "--store", store)
    first = engine("run", small, *to_all)
    assert (first.returncode, first.stderr) == (0, "")
    full = engine("run", large, *to_all)
    assert (full.returncode, full.stdout) == (1, "")
    (sentence,) = full.stderr.splitlines()
    # The error depends on who writes first: the run, or Spark's sort.
    says_what = re.search("there is no room left where the run keeps its files|the disk is full", sentence)
    assert says_what, sentence
    assert str(small_disk) in sentence
    assert re.search("or set TMPDIR to another( folder)?\\.$", sentence), sentence
    again = engine("run", small, *to_all)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    with Store.open(store) as opened:
        runs = sorted(opened.runs.list(), key=lambda run: run.run_id)
        assert [run.status for run in runs] == [RunStatus.FINISHED, RunStatus.FAILED, RunStatus.FINISHED]
        assert opened.changelog.page(runs[0].run_id, "sink").total == 20
    engine("servers", "--stop")
    deadline = time.monotonic() + 20
    while list(small_disk.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list(small_disk.iterdir()) == []
