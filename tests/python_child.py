"""Python code in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run_python(
    code: str, environ: Mapping[str, str] | None = None, *, folder: Path = ROOT, limit_s: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the code to its end. environ: all variables of its environment, by default the own ones."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environ, cwd=folder, capture_output=True, text=True, timeout=limit_s, check=False
    )
