"""The README's two commands: start the app, and run every check."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from ui.bootstrap.environment import ready_python
from ui.bootstrap.errors import SetupError
from ui.bootstrap.install import say
from ui.bootstrap.requirements import ROOT

STORE = "CHANGELOG_STUDIO_STORE"


def start_app(arguments: list[str]) -> int | str:
    """Replace this process by the app. `--store FILE` is the file of its records; Streamlit gets all other options."""

    def become_streamlit(python: Path) -> int:
        _take_store(arguments)
        os.chdir(ROOT)
        os.execv(python, [str(python), "-m", "streamlit", "run", "ui/server.py", *arguments])

    return _with_environment(become_streamlit)


def run_tests(arguments: list[str]) -> int | str:
    """Run linting, typing and all tests; with arguments, only pytest with them. Non-zero if any failed."""

    def check(python: Path) -> int:
        os.chdir(ROOT)
        # Hundreds of processes of the tests import our code. Compiling it anew in each takes a third of their CPU.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        if arguments:
            os.execv(python, [str(python), "-m", "pytest", *arguments])
        # Three at a time, a file each, on two cores: while one waits for Spark or for the browser, the others work.
        # So many failures have one cause, such as an engine that does not start, and each takes as long as its waits.
        whole = ["pytest", "-n", "3", "--dist", "loadfile", "--no-loadscope-reorder", "--maxfail", "40"]
        checks = {"ruff": ["ruff", "check"], "format": ["ruff", "format", "--check"], "pytest": whole}
        # Types are checked on one core, and told last. Meanwhile the other one fills the caches that each process of
        # the tests would otherwise fill for itself: the compiled tests, and the constants that hypothesis tries.
        typing = subprocess.Popen([python, "-m", "mypy"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        collecting = subprocess.Popen(
            [python, "-m", "pytest", "--collect-only", "-q"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        failed = []
        for name, command in checks.items():
            say(f"== {name}")
            if name == "pytest":
                collecting.wait()
            if subprocess.run([python, "-m", *command], check=False).returncode != 0:
                failed.append(name)
        said, _ = typing.communicate()
        say(f"== mypy\n{said}")
        if typing.returncode != 0:
            failed.append("mypy")
        say(f"Failed: {', '.join(failed)}." if failed else "Linting, typing and all tests passed.")
        return 1 if failed else 0

    return _with_environment(check)


def _with_environment(run: Callable[[Path], int]) -> int | str:
    try:
        return run(ready_python())
    except SetupError as error:
        return str(error)
    except KeyboardInterrupt:
        say("\nInterrupted. The next start continues from here.")
        return 130


def _take_store(arguments: list[str]) -> None:
    """Move `--store FILE` from the arguments to the environment, made absolute in the caller's folder."""
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    for position, argument in enumerate(own):
        name, equals, value = argument.partition("=")
        if name != "--store":
            continue
        if not equals:
            if position + 1 == len(own):
                msg = "--store needs the name of a DuckDB file, for example --store studio.duckdb."
                raise SetupError(msg)
            value = own[position + 1]
        os.environ[STORE] = str(Path(value).expanduser().absolute())
        del arguments[position : position + (1 if equals else 2)]
        return
