"""The content of requirements.txt: its pins, its local packages, and one fingerprint of all of it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements.txt"

_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^\]]*\])?==([^\s;#]+)(?:\s*;([^#]+))?")
_BUILD_LEFTOVERS = {"build", "node_modules", "__pycache__"}


def pins(requirements: Path = REQUIREMENTS) -> dict[str, str]:
    """Return the version that each requirement of this interpreter is pinned to, local packages included."""
    pinned = {}
    for line in requirements.read_text(encoding="utf-8").splitlines():
        match = _PIN.match(line.strip())
        if match and (match[3] is None or _holds(match[3])):
            pinned[match[1]] = match[2]
    for folder in _local_packages(requirements):
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        pinned[project["name"]] = project["version"]
    return pinned


def fingerprint(requirements: Path = REQUIREMENTS) -> str:
    """Return a digest that changes whenever an environment made from these requirements would."""
    # pip would notice as well, but needs seconds for it and builds local packages anew at every start.
    digest = hashlib.sha256(requirements.read_bytes())
    for folder in _local_packages(requirements):
        for file in sorted(folder.rglob("*")):
            parts = file.relative_to(folder).parts
            if file.is_file() and not any(p in _BUILD_LEFTOVERS or p.endswith(".egg-info") for p in parts):
                digest.update("/".join(parts).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def are_met_here(requirements: Path = REQUIREMENTS) -> bool:
    """Return whether the running interpreter has every requirement in its pinned version."""
    for name, version in pins(requirements).items():
        try:
            if importlib.metadata.version(name) != version:
                return False
        except importlib.metadata.PackageNotFoundError:
            return False
    return True


def _holds(marker: str) -> bool:
    """Return whether an environment marker of ours holds: its few names, compared as text."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    names = {"python_version": version, "sys_platform": sys.platform, "platform_machine": platform.machine()}
    return bool(eval(marker, {"__builtins__": {}}, names))


def _local_packages(requirements: Path) -> list[Path]:
    lines = (line.strip() for line in requirements.read_text(encoding="utf-8").splitlines())
    return [(requirements.parent / line).resolve() for line in lines if line.startswith("./")]
