"""Runs a Python text in the process that has the records; the errors of its code."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

from engine.errors import shortened
from engine.model.types import Type
from engine.python_functions.stand_in import imports

# Spark's workers receive these modules with the pickled functions, and cannot import them.
_FILE: Final = "<the code of the function>"


class FunctionFailed(Exception):
    """A function raised an error or returned an invalid value; the message is one line."""


class LoadedCode:
    """The loaded code of a call in this process; it is not pickled."""

    def __init__(self) -> None:
        self.made: Any = None

    def __reduce__(self) -> tuple[type[LoadedCode], tuple[()]]:
        return LoadedCode, ()

    def once(self, make: Callable[[], Any]) -> Any:
        """The value, made on first access."""
        if self.made is None:
            self.made = make()
        return self.made


@dataclass(frozen=True)
class DefinedFunction:
    """A function that a text defines. type: of its results, in Spark's spelling."""

    code: str
    function: str
    type: Type
    _kept: LoadedCode = field(default_factory=LoadedCode, compare=False, repr=False, kw_only=True)


def loaded(code: str, name: str, found: Callable[[Any], Any]) -> Any:
    """Run a text and return its definition of a name. found: converts the definition. Raises FunctionFailed."""
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
    """An error of user code, and the line of the code that raised it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE]
    return f"{type(error).__name__}: {error}" + (f" (line {lines[-1]} of its code)" if lines else "")


def fail(called: str, given: Sequence[Any], what: str) -> NoReturn:
    """Raise FunctionFailed for a call with these arguments."""
    values = shortened(", ".join(repr(value) for value in given), 120)
    message = " ".join(f"{called}({values}) failed: {what}".split())
    raise FunctionFailed(message) from None


def unfitting(value: Any, type_: Type, error: Exception) -> str:
    """The message for a result that does not fit the result type."""
    return f"it gave {shortened(repr(value), 80)}, which does not fit {type_.flink}: {error}"
