"""What is loaded while nobody has opened a page yet is all that a page needs."""

from __future__ import annotations

import os
from pathlib import Path

from tests.python_child import ROOT, run_python

_CODE = """
import sys
from streamlit.testing.v1 import AppTest
from ui.shell.ahead import load_ahead
load_ahead().join()
known = set(sys.modules)
for name in ("state", "changelog", "build"):
    app = AppTest.from_file(f"ui/views/{name}.py", default_timeout=60).run()
    assert not app.exception, app.exception
print([name for name in set(sys.modules) - known if name.partition(".")[0] in ("ui", "engine", "storage", "plotly")])
"""


def test_a_page_that_is_opened_first_loads_nothing_itself(tmp_path: Path) -> None:
    environ = {**os.environ, "CHANGELOG_STUDIO_STORE": str(tmp_path / "studio.duckdb"), "PYTHONPATH": str(ROOT)}
    done = run_python(_CODE, environ)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr
