"""A one-line description of the machine."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from engine.spark.java import environment


def described(flink: str | None) -> str:
    """Processor, memory and versions. flink: an interpreter with apache-flink, if there is one."""
    parts = [
        f"{os.cpu_count()} cores of {_processor()}",
        f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB",
        f"{platform.system()} {platform.machine()}",
        f"Python {platform.python_version()}",
        f"Java {_java()}",
        *(f"{name} {version(package)}" for name, package in (("Spark", "pyspark"), ("DuckDB", "duckdb"))),
    ]
    return ", ".join([*parts, f"Flink {_flink(flink)}"] if flink else parts)


def _processor() -> str:
    file = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.+)$", file.read_text(), re.MULTILINE) if file.exists() else None
    return found[1].strip() if found else platform.processor() or "an unknown processor"


def _java() -> str:
    java = Path(environment()["JAVA_HOME"]) / "bin" / "java"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "([^"]+)"', said)
    return found[1] if found else "of unknown version"


def _flink(python: str) -> str:
    code = "from importlib.metadata import version; print(version('apache-flink'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
