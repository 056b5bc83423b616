"""The two commands: what they run, the arguments that they pass on, and the message for an old Python."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.python_child import run_python
from ui.bootstrap import commands
from ui.bootstrap.errors import SetupError

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A python that only notes the name of the module to run, and fails for the modules in $FAILING.

    It does not note the collection, which runs at the same time as other checks.
    """
    python, noted = tmp_path / "python", tmp_path / "noted"
    python.write_text(
        f"""#!/bin/sh
case "$*" in *--collect-only*) exit 0;; esac
echo "$2" >> {noted}
case " $FAILING " in *" $2 "*) exit 1;; esac
"""
    )
    python.chmod(0o755)
    monkeypatch.setattr(commands, "ready_python", lambda: python)
    monkeypatch.chdir(tmp_path)
    return noted


@pytest.mark.parametrize(("failing", "status"), [("", 0), ("ruff", 1), ("mypy", 1), ("pytest", 1), ("ruff mypy", 1)])
def test_all_checks_run_and_any_failure_counts(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch, failing: str, status: int
) -> None:
    monkeypatch.setenv("FAILING", failing)
    assert commands.run_tests([]) == status
    # Types are checked beside the others.
    assert sorted(stand_in.read_text().split()) == ["mypy", "pytest", "ruff", "ruff"]


def test_our_code_is_compiled_once_for_all_tests(stand_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert commands.run_tests([]) == 0
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ


@pytest.mark.parametrize(
    ("arguments", "left", "store"),
    [
        (["--store", "a.duckdb", "--server.port", "1"], ["--server.port", "1"], "a.duckdb"),
        (["--server.port=1", "--store=b.duckdb"], ["--server.port=1"], "b.duckdb"),
        (["--", "--store", "theirs"], ["--", "--store", "theirs"], None),
    ],
)
def test_the_store_is_taken_out_and_the_rest_is_streamlits(
    stand_in: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], left: list[str], store: str | None
) -> None:
    started: list[str] = []
    monkeypatch.setenv(commands.STORE, "before")
    monkeypatch.setattr(os, "execv", lambda python, command: started.extend(command[1:]))
    here = Path.cwd()
    commands.start_app(arguments)
    assert started == ["-m", "streamlit", "run", "ui/server.py", *left]
    assert os.environ[commands.STORE] == (str(here / store) if store else "before")


def test_a_store_without_a_name_is_one_sentence(stand_in: Path) -> None:
    assert commands.start_app(["--store"]) == (
        "--store needs the name of a DuckDB file, for example --store studio.duckdb."
    )


def test_what_cannot_be_set_up_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Path:
        msg = "No room."
        raise SetupError(msg)

    monkeypatch.setattr(commands, "ready_python", refuse)
    assert commands.run_tests([]) == "No room."


def test_arguments_go_to_pytest_alone_from_any_folder(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, ROOT / "tests", "--co", "-q", "tests/test_architecture.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "test_no_file_holds_two_subjects" in run.stdout


@pytest.mark.parametrize("module", ["ui", "tests"])
def test_an_old_python_gets_a_sentence(module: str) -> None:
    code = f"import sys, runpy; sys.version_info = (3, 9, 2); runpy.run_module({module!r}, run_name='__main__')"
    run = run_python(code)
    assert run.returncode == 1
    assert run.stderr.startswith("Changelog Studio needs Python 3.11 or newer, but ")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["ui", "tests"])
def test_what_an_old_python_reads_is_in_its_language(module: str) -> None:
    for file in (f"{module}/__init__.py", f"{module}/__main__.py", "ui/bootstrap/__init__.py"):
        ast.parse((ROOT / file).read_text(), feature_version=(3, 7))
