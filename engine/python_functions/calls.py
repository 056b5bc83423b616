"""A function in Python on Arrow columns, a record at a time, in the process that has the records: a worker of Spark's.

Deterministic functions are taken for granted, as Flink takes them: the -U of a row is computed by itself.
"""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NoReturn

import pyarrow as pa

from engine.errors import shortened
from engine.model.schema import arrow_type
from engine.python_functions.stand_in import evaluated, imports
from engine.python_functions.values import arguments_of, results_of

# Spark's workers get these modules with what is sent to them, and cannot import any of them.
_FILE: Final = "<the code of the function>"


class FunctionFailed(Exception):
    """A function that raised, or gave what it may not, as a sentence in one line."""


class _Kept:
    """What the code of a call has defined in this process; it is not sent to others."""

    def __init__(self) -> None:
        self.function: Callable[..., Any] | None = None

    def __reduce__(self) -> tuple[type[_Kept], tuple[()]]:
        return _Kept, ()


@dataclass(frozen=True)
class PythonCall:
    """A call as a column of a projection. arguments: Spark SQL over the input's columns. type: as Spark writes it."""

    name: str
    code: str
    function: str
    arguments: tuple[str, ...]
    type: str
    is_table: bool = False
    _kept: _Kept = field(default_factory=_Kept, compare=False, repr=False)

    def on(self, arguments: Sequence[pa.Array], rows: int) -> pa.Array:
        """The results, one per record. arguments: columns of so many rows. Raises FunctionFailed."""
        if self._kept.function is None:
            self._kept.function = _loaded(self.code, self.function)
        function = self._kept.function
        columns = [arguments_of(each) for each in arguments]
        # Of a function without arguments there are as many calls as of any other.
        records = list(zip(*columns, strict=True)) if columns else [()] * rows
        return self._fitting([self._called(function, record) for record in records], records, arrow_type(self.type))

    def _called(self, function: Callable[..., Any], record: tuple[Any, ...]) -> Any:
        try:
            made = function(*record)
            # The rows of a table function may be made one by one.
            return made if made is None or not self.is_table else list(made)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever somebody's code raises
            self._fail(record, f"{type(error).__name__}: {error}{_place(error)}")

    def _fitting(self, values: list[Any], records: Sequence[tuple[Any, ...]], type_: pa.DataType) -> pa.Array:
        wrong = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError)
        try:
            return results_of(values, type_)
        except wrong:
            for value, record in zip(values, records, strict=True):
                try:
                    results_of([value], type_)
                except wrong as error:
                    what = f"it gave {shortened(repr(value), 80)}, which does not fit {self.type}: {error}"
                    self._fail(record, what)
            raise

    def _fail(self, record: Sequence[Any], what: str) -> NoReturn:
        given = shortened(", ".join(repr(value) for value in record), 120)
        message = " ".join(f"{self.function}({given}) failed: {what}".split())
        raise FunctionFailed(message) from None


def _loaded(code: str, name: str) -> Callable[..., Any]:
    """The function of a text, which runs for it. Raises FunctionFailed."""
    namespace: dict[str, Any] = {
        "__name__": "functions",
        "__builtins__": {**vars(builtins), "__import__": imports()},
    }
    try:
        exec(compile(code, _FILE, "exec"), namespace)
        return evaluated(namespace[name])
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever somebody's code raises
        message = " ".join(f"its code cannot be loaded: {type(error).__name__}: {error}{_place(error)}".split())
        raise FunctionFailed(message) from None


def _place(error: BaseException) -> str:
    """The line of the code that raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == _FILE]
    return f" (line {lines[-1]} of its code)" if lines else ""
