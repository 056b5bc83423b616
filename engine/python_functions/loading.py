"""A text in Python, run in the process that has the records, and what is said where it fails."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from engine.errors import shortened
from engine.python_functions.stand_in import imports

# Spark's workers get these modules with what is sent to them, and cannot import any of them.
_FILE: Final = "<the code of the function>"


class FunctionFailed(Exception):
    """A function that raised, or gave what it may not, as a sentence in one line."""


class Kept:
    """What the code of a call has defined in this process; it is not sent to others."""

    def __init__(self) -> None:
        self.made: Any = None

    def __reduce__(self) -> tuple[type[Kept], tuple[()]]:
        return Kept, ()

    def once(self, make: Callable[[], Any]) -> Any:
        """What is made the first time that it is asked for."""
        if self.made is None:
            self.made = make()
        return self.made


def loaded(code: str, name: str, found: Callable[[Any], Any]) -> Any:
    """What a text calls so, which runs for it. found: makes of that what is wanted. Raises FunctionFailed."""
    namespace: dict[str, Any] = {
        "__name__": "functions",
        "__builtins__": {**vars(builtins), "__import__": imports()},
    }
    try:
        exec(compile(code, _FILE, "exec"), namespace)
        return found(namespace[name])
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever somebody's code raises
        message = " ".join(f"its code cannot be loaded: {raised(error)}".split())
        raise FunctionFailed(message) from None


def raised(error: BaseException) -> str:
    """What somebody's code raised, and the line of the code that did."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE]
    return f"{type(error).__name__}: {error}" + (f" (line {lines[-1]} of its code)" if lines else "")


def fail(called: str, given: Sequence[Any], what: str) -> NoReturn:
    """Raise FunctionFailed for a call with these values."""
    values = shortened(", ".join(repr(value) for value in given), 120)
    message = " ".join(f"{called}({values}) failed: {what}".split())
    raise FunctionFailed(message) from None


def unfitting(value: Any, type_: str, error: Exception) -> str:
    """What is said of a value that is not of the type of the results."""
    return f"it gave {shortened(repr(value), 80)}, which does not fit {type_}: {error}"
