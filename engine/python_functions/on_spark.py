"""A call of a Python function as a column of a frame: Spark computes the arguments, its workers the results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from engine.contract.sending import sent
from engine.expressions.costs import bounded
from engine.model.row_values import to_pylist
from engine.model.types import Type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

    from engine.contract.step import ColumnCall
    from engine.python_functions.aggregates import PythonAggregate

    # (argument columns, number of records) -> results
    Call = Callable[[Sequence[pa.Array], int], pa.Array]

_ARGUMENT: Final = "__argument"
_RESULT: Final = "__result"


def with_call(frame: DataFrame, call: ColumnCall, arguments: Sequence[str] | None = None) -> DataFrame:
    """The frame with the results as its last column; the order of rows stays. arguments: in place of the call's."""
    from pyspark.sql import functions as f

    texts = call.arguments if arguments is None else arguments
    return _with_results(frame, call.name, [f.expr(bounded(text)) for text in texts], call.type, call.on)


def with_fold(frame: DataFrame, name: str, function: PythonAggregate) -> DataFrame:
    """The frame with a column of lists replaced by the results of an aggregate function, as its last column."""
    from pyspark.sql import functions as f

    def folded(lists: Sequence[pa.Array], rows: int) -> pa.Array:
        import pyarrow as pa

        return pa.array([function.of_all(values) for values in to_pylist(lists[0])], function.type.arrow)

    quoted = f"`{name.replace('`', '``')}`"
    others = [f.col(f"`{column.replace('`', '``')}`") for column in frame.columns if column != name]
    given = frame.select(*others, f.col(quoted).alias(_ARGUMENT))
    return _with_results(given, name, [f.col(_ARGUMENT)], function.type, folded).drop(_ARGUMENT)


def _with_results(frame: DataFrame, name: str, arguments: Sequence[Column], type_: Type, call: Call) -> DataFrame:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    names = frame.columns
    given_arguments = [argument.alias(f"{_ARGUMENT}{at}") for at, argument in enumerate(arguments)]
    # The last column only declares the type of the results.
    given = frame.select("*", *given_arguments, f.lit(None).cast(str(type_)).alias(_RESULT))
    fields = given.schema.fields
    # PySpark sends the columns' names to the server without quotes, so simple names are needed.
    plain = [f"__column{at}" for at in range(len(fields))]
    output_names = [*plain[: len(names)], plain[-1]]
    schema = StructType()
    for column, field in zip(output_names, [*fields[: len(names)], fields[-1]], strict=True):
        # All columns of the result are declared nullable.
        schema.add(column, field.dataType)

    def called(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            results = call(batch.columns[len(names) : -1], batch.num_rows)
            yield pa.RecordBatch.from_arrays([*batch.columns[: len(names)], results], names=output_names)

    return given.toDF(*plain).mapInArrow(sent(called), schema).toDF(*names, name)
