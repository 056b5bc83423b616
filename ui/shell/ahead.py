"""What the first page of a process would have to load, loaded in the background as soon as the server answers."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from engine.registry import operators, sources
from ui.shell.navigation import VIEWS
from ui.shell.theme import figure

_APP: Final = Path(__file__).parents[1] / "app.py"


def load_ahead() -> threading.Thread:
    """Begin to load; a page that is opened meanwhile waits only for what it needs itself."""
    thread = threading.Thread(target=_load, name="load-ahead", daemon=True)
    thread.start()
    return thread


def _load() -> None:
    # Otherwise loaded by the first title of an operator, and by the first chart.
    operators()
    sources()
    figure().add_scatter(x=[0], y=[0]).to_json()
    for name in _imported():
        import_module(name)


def _imported() -> Iterator[str]:
    """The modules that the scripts of the pages import: a script itself cannot be imported."""
    for script in (_APP, *(view.path for view in VIEWS)):
        for statement in ast.parse(script.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ImportFrom) and statement.module is not None:
                yield statement.module
