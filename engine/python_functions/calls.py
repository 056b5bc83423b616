"""A Python function on Arrow columns, a record at a time, in the process that has the records: a Spark worker.

Functions are assumed to be deterministic, as in Flink: the results for -U and +U are computed independently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from engine.python_functions.loading import DefinedFunction, fail, loaded, raised, unfitting
from engine.python_functions.stand_in import evaluated
from engine.python_functions.values import WRONG, arguments_of, results_of


@dataclass(frozen=True)
class PythonCall(DefinedFunction):
    """A call as a column of a projection. name: of the column. arguments: Spark SQL over the input's columns."""

    name: str
    arguments: tuple[str, ...]
    is_table: bool = False

    def on(self, arguments: Sequence[pa.Array], rows: int) -> pa.Array:
        """The results, one per record. arguments: columns with `rows` values. Raises FunctionFailed."""
        function = self._kept.once(lambda: loaded(self.code, self.function, evaluated))
        columns = [arguments_of(argument) for argument in arguments]
        # A function without arguments is also called once per record.
        records = list(zip(*columns, strict=True)) if columns else [()] * rows
        return self._fitting([self._called(function, record) for record in records], records, self.type.arrow)

    def _called(self, function: Callable[..., Any], record: tuple[Any, ...]) -> Any:
        try:
            output = function(*record)
            # A table function may be a generator of rows.
            return output if output is None or not self.is_table else list(output)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever somebody's code raises
            fail(self.function, record, raised(error))

    def _fitting(self, values: list[Any], records: Sequence[tuple[Any, ...]], type_: pa.DataType) -> pa.Array:
        try:
            return results_of(values, type_)
        except WRONG:
            for value, record in zip(values, records, strict=True):
                try:
                    results_of([value], type_)
                except WRONG as error:
                    fail(self.function, record, unfitting(value, self.type, error))
            raise
