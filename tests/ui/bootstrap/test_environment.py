"""The environment is made once, by one start at a time, and recovers from interrupted starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ui.bootstrap import install
from ui.bootstrap.environment import LOCK, STAMP, ready_python
from ui.bootstrap.errors import SetupError

ROOT = Path(__file__).resolve().parents[3]
# A build backend of its own: pip would first fetch the usual one from the index, for every installation.
BACKEND = """
import pathlib, zipfile

def build_wheel(folder, *options):
    name, about = "part-1-py3-none-any.whl", "part-1.dist-info/"
    with zipfile.ZipFile(pathlib.Path(folder, name), "w") as wheel:
        wheel.write("part.py")
        wheel.writestr(about + "METADATA", "Metadata-Version: 2.1\\nName: part\\nVersion: 1\\n")
        wheel.writestr(about + "WHEEL", "Wheel-Version: 1.0\\nTag: py3-none-any\\n")
        wheel.writestr(about + "RECORD", "part.py,,\\n")
    return name
"""
PYPROJECT = """
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
"""
MAKE = "import sys, pathlib; from ui.bootstrap.environment import ready_python as r; r(pathlib.Path(sys.argv[1]))"


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A requirements.txt with one local package, which pip installs quickly."""
    package = tmp_path / "project" / "part"
    package.mkdir(parents=True)
    (package / "part.py").write_text("ANSWER = 1\n")
    (package / "backend.py").write_text(BACKEND)
    (package / "pyproject.toml").write_text(PYPROJECT)
    (package.parent / "requirements.txt").write_text("./part\n")
    monkeypatch.setenv("CHANGELOG_STUDIO_VENV", str(tmp_path / "environment"))
    return package.parent / "requirements.txt"


@pytest.fixture
def folder(file: Path) -> Path:
    return Path(os.environ["CHANGELOG_STUDIO_VENV"])


def answer(python: Path) -> str:
    command = [python, "-c", "import part; print(part.ANSWER)"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


# One test, since making an environment takes four CPU seconds.
@pytest.mark.slow
def test_one_of_two_starts_makes_an_interrupted_environment_anew_and_it_follows_its_requirements(
    file: Path, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "bin").mkdir(parents=True)
    (folder / LOCK).touch()
    (folder / "bin" / "python").write_text("half a file")
    starts = [
        subprocess.Popen([sys.executable, "-c", MAKE, str(file)], cwd=ROOT, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [start.communicate(timeout=300)[1] for start in starts]
    assert [start.returncode for start in starts] == [0, 0]
    assert sum("Creating the Python environment" in words for words in said) == 1

    assert answer(ready_python(file)) == "1"
    assert capfd.readouterr().err == ""
    (file.parent / "part" / "part.py").write_text("ANSWER = 2\n")
    assert answer(ready_python(file)) == "2"
    assert "requirements.txt has changed" in capfd.readouterr().err
    assert (folder / STAMP).exists()

    file.write_text("./part\ngone @ file:///nowhere/gone-1-py3-none-any.whl\n")
    with pytest.raises(SetupError, match=r"requirements\.txt cannot be installed: pip says above why\."):
        ready_python(file)
    heard = capfd.readouterr()
    assert (heard.out, "gone-1-py3-none-any.whl" in heard.err) == ("", True)
    assert "gone-1-py3-none-any.whl" in (folder / install.LOG).read_text()
    assert not (folder / STAMP).exists()


@pytest.mark.slow
def test_python_without_ensurepip_takes_pip_from_the_index(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = install.importlib.util.find_spec
    monkeypatch.setattr(
        install.importlib.util, "find_spec", lambda name: None if name == "ensurepip" else find_spec(name)
    )
    assert answer(ready_python(file)) == "1"


def test_a_folder_of_somebody_else_is_left_alone(file: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.txt").write_text("ten years of work")
    with pytest.raises(SetupError, match="was not created by Changelog Studio"):
        ready_python(file)
    assert [entry.name for entry in folder.iterdir()] == ["thesis.txt"]


def test_a_folder_that_cannot_be_made_is_one_sentence(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_VENV", str(file / "inside-a-file"))
    with pytest.raises(SetupError, match=r"cannot be created in .*: Not a directory\. Set CHANGELOG_STUDIO_VENV"):
        ready_python(file)


def test_a_complete_interpreter_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHANGELOG_STUDIO_VENV", raising=False)
    assert ready_python() == Path(sys.executable)
