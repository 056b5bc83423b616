"""requirements.txt: everything is pinned, the set is consistent, and every change alters the fingerprint."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ui.bootstrap.requirements import REQUIREMENTS, are_met_here, fingerprint, pins


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A requirements.txt with one pin and one local package."""
    package = tmp_path / "ui" / "part"
    package.mkdir(parents=True)
    (package / "pyproject.toml").write_text('[project]\nname = "part"\nversion = "1.2"\n')
    (tmp_path / "requirements.txt").write_text("# why\n\niniconfig[extra]==2.3.1  # note\n./ui/part\n")
    return tmp_path


def test_every_requirement_is_pinned_or_lies_in_this_repository() -> None:
    lines = [line for line in REQUIREMENTS.read_text().splitlines() if line and not line.startswith("#")]
    loose = [line for line in lines if not re.fullmatch(r"[\w.-]+(\[[\w,-]+\])?==[\w.]+(; .+)?|\./[\w/-]+", line)]
    assert not loose


def test_whatever_a_requirement_brings_along_is_pinned_too() -> None:
    pinned = {normal(name) for name in pins()}
    missing = {
        f"{name} needs {needed}"
        for name in pins()
        for line in importlib.metadata.requires(name) or []
        if "extra ==" not in line
        and (needed := normal(re.split(r"[^\w.-]", line, maxsplit=1)[0])) not in pinned
        and ";" not in line
    }
    assert not missing


def test_the_versions_fit_each_other() -> None:
    check = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout


def test_the_tests_run_on_the_pinned_versions() -> None:
    assert are_met_here()


def test_pins_name_local_packages_by_their_own_version(project: Path) -> None:
    assert pins(project / "requirements.txt") == {"iniconfig": "2.3.1", "part": "1.2"}


def test_a_requirement_of_other_interpreters_is_not_wanted_here(project: Path) -> None:
    file = project / "requirements.txt"
    file.write_text('numba==1.0; python_version < "3.11"\npluggy==1.6.0; python_version >= "3.11"  # note\n')
    assert pins(file) == {"pluggy": "1.6.0"}


def test_an_interpreter_that_lacks_one_requirement_does_not_do(project: Path) -> None:
    assert not are_met_here(project / "requirements.txt")


def test_the_fingerprint_changes_with_the_list_and_with_a_local_package(project: Path) -> None:
    file = project / "requirements.txt"
    seen = {fingerprint(file)}
    (project / "ui" / "part" / "code.py").write_text("")
    seen.add(fingerprint(file))
    file.write_text(file.read_text() + "pluggy==1.7.0\n")
    seen.add(fingerprint(file))
    assert len(seen) == 3


def test_the_fingerprint_ignores_what_building_leaves_behind(project: Path) -> None:
    before = fingerprint(project / "requirements.txt")
    for folder in ("build/lib", "part.egg-info", "__pycache__"):
        (project / "ui" / "part" / folder).mkdir(parents=True)
        (project / "ui" / "part" / folder / "left.txt").write_text("over")
    assert fingerprint(project / "requirements.txt") == before
