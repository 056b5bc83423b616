"""An app ends with the test process that started it, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from engine.spark.processes import is_running
from tests.browser.app_server import ROOT

# A stand-in for Streamlit, which saves the start of an app.
_SERVING = "import signal\n\ndef main(arguments, prog_name):\n    print('up', flush=True)\n    signal.pause()\n"
_KILLED = """
import os, signal, sys, time
from pathlib import Path
from tests import forked
from tests.browser import app_server

forked._ALL_IMPORT = ()
log = Path(sys.argv[1])
app = forked.processes().Process(target=app_server._serve, args=([], {}, log))
app.start()
print(app.pid, flush=True)
while not (log.exists() and "up" in log.read_text()):
    time.sleep(0.05)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_app_ends_with_tests_that_are_killed(tmp_path: Path) -> None:
    serving = tmp_path / "path" / "streamlit" / "web"
    serving.mkdir(parents=True)
    (serving / "cli.py").write_text(_SERVING)
    for package in (serving, serving.parent):
        (package / "__init__.py").touch()
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "path"), str(ROOT)])}
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "log")]
    tests = subprocess.run(command, env=environ, stdout=subprocess.PIPE, timeout=60, check=False)
    assert tests.returncode < 0
    assert (tmp_path / "log").read_text() == "up\n"
    app = int(tests.stdout)
    end = time.monotonic() + 20
    while is_running(app):
        assert time.monotonic() < end
        time.sleep(0.05)
