"""Our own servers: shared by all processes of this user and checkout only, and ended when unused."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from engine.__main__ import main
from engine.errors import EngineUnavailable
from engine.spark import keeper
from engine.spark.engines import Engine
from engine.spark.servers import IDLE_ENVIRONMENT, SERVER_FILE, USED_FILE, Server, server_for, servers
from engine.spark.session import connect

ROOT = Path(__file__).resolve().parents[2]

STARTER = """
from engine.spark.servers import server_for
server = server_for("local[1]")
print(server.jvm, server.is_new)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate folder of servers for this test."""
    monkeypatch.setenv("CHANGELOG_STUDIO_SERVERS", str(tmp_path / "servers"))
    return tmp_path / "servers"


def ends(server: Server, within_s: float = 30) -> bool:
    """Wait until the server and its processes have ended."""
    end = time.monotonic() + within_s
    while server.is_alive() and time.monotonic() < end:
        time.sleep(0.1)
    return not server.is_alive()


def started_from(session: SparkSession) -> tuple[str, bool, str]:
    """The command line of the process from which a Python worker was forked, whether its objects are frozen, and the
    allocator of Arrow's arrays.
    """

    def look(batches: Any) -> Any:
        for _ in batches:
            pass
        arguments = Path(f"/proc/{os.getppid()}/cmdline").read_text().split("\0")
        told = {"command": " ".join(arguments[1:3]), "frozen": gc.get_freeze_count() > 0}
        yield pa.RecordBatch.from_pylist([told | {"arrow": pa.default_memory_pool().backend_name}])

    [row] = session.range(0, 1, 1, 1).mapInArrow(look, "command STRING, frozen BOOLEAN, arrow STRING").collect()
    return str(row[0]), bool(row[1]), str(row[2])


def noted(pid: int, checkout: Path = ROOT) -> dict[str, Any]:
    """The note of a server, with one process as its keeper and its JVM."""
    return {"master": "local[1]", "port": 1, "token": "t", "keeper": pid, "jvm": pid, "checkout": str(checkout)}


@pytest.mark.slow
def test_it_outlives_who_started_it_and_the_next_process_finds_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 24 s.
    monkeypatch.setenv(IDLE_ENVIRONMENT, "0.4")
    with ThreadPoolExecutor(2) as both:
        told = list(both.map(lambda _: subprocess.check_output([sys.executable, "-c", STARTER], cwd=ROOT), range(2)))
    (jvm, first), (other, second) = (line.decode().split() for line in told)
    assert jvm == other, "two processes that begin at once share a server"
    assert {first, second} == {"True", "False"}
    server = server_for("local[1]")
    assert (server.jvm, server.is_new) == (int(jvm), False)
    assert [one.jvm for one in servers()] == [server.jvm]
    written = server.folder / SERVER_FILE
    assert written.stat().st_mode & 0o077 == 0
    assert server.folder.stat().st_mode & 0o077 == 0
    assert server.token not in repr(server)
    assert server.token not in subprocess.check_output(["ps", "-ww", "-eo", "args"], text=True)

    session = connect(Engine("here", "local[1]"), server)
    assert session.range(3).count() == 3
    assert started_from(session) == ("-m worker_daemon", True, "system")
    session.stop()
    thief = Engine("thief", f"sc://localhost:{server.port}", token="guessed")
    with pytest.raises(EngineUnavailable, match="refuses the token"):
        connect(thief)

    assert ends(server, within_s=90), "nobody uses it any more"
    end = time.monotonic() + 10
    while written.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not written.exists()
    assert servers() == []


@pytest.mark.slow
def test_one_that_was_killed_is_replaced_and_the_command_line_ends_them(capsys: pytest.CaptureFixture[str]) -> None:
    killed = server_for("local[1]")
    os.kill(killed.jvm, signal.SIGKILL)
    assert ends(killed)
    another = server_for("local[1]")
    assert another.is_new
    assert another.token != killed.token
    assert main(["servers"]) == 0
    assert capsys.readouterr().out == f"local[1]  process {another.jvm}  running\n"
    assert main(["servers", "--stop"]) == 0
    assert capsys.readouterr().out == f"local[1]  process {another.jvm}  ended\n"
    assert not another.is_alive()
    assert servers() == []


def test_a_note_of_processes_that_are_gone_is_not_believed(folder: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (folder / "any").mkdir(parents=True)
    note = noted(gone.pid)
    (folder / "any" / SERVER_FILE).write_text(json.dumps(note))
    assert servers() == []
    (folder / "any" / SERVER_FILE).write_text("half a no")
    assert servers() == []


def test_the_command_line_ends_the_servers_of_its_own_checkout_only(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, elsewhere = (subprocess.Popen(["sleep", "600"], start_new_session=True) for _ in range(2))
    try:
        for process, checkout in ((here, ROOT), (elsewhere, Path("/another/checkout"))):
            (folder / str(process.pid)).mkdir(parents=True)
            note = noted(process.pid, checkout)
            (folder / str(process.pid) / SERVER_FILE).write_text(json.dumps(note))
        assert main(["servers"]) == 0
        assert capsys.readouterr().out == f"local[1]  process {here.pid}  running\n"
        assert main(["servers", "--stop"]) == 0
        assert capsys.readouterr().out == f"local[1]  process {here.pid}  ended\n"
        assert elsewhere.poll() is None
        assert main(["servers", "--all"]) == 0
        assert capsys.readouterr().out == f"local[1]  process {elsewhere.pid}  running  /another/checkout\n"
    finally:
        for process in (here, elsewhere):
            process.kill()
            process.wait()


@pytest.mark.slow
def test_what_the_jvm_says_is_told_where_it_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_MEMORY", "no size")
    with pytest.raises(EngineUnavailable, match=r"Spark does not start on local\[1\]\..*no size"):
        server_for("local[1]")


def test_a_clock_that_is_set_forward_ends_no_engine_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last use is a day ago then, by the clock."""
    (tmp_path / SERVER_FILE).write_text("told")
    (tmp_path / USED_FILE).touch()
    os.utime(tmp_path / USED_FILE, (time.time() - 86_400,) * 2)
    lives = iter([True, True, False])
    monkeypatch.setattr(keeper.time, "sleep", lambda _: None)
    keeper._stay(tmp_path, SimpleNamespace(is_alive=lambda: next(lives)), "told", idle_s=60)  # type: ignore[arg-type]
    assert next(lives, None) is None, "it was ended while it lived"
    lives = iter([True, True])
    keeper._stay(tmp_path, SimpleNamespace(is_alive=lambda: next(lives)), "told", idle_s=-1)  # type: ignore[arg-type]
    assert next(lives, None) is True, "an idle one stays"
