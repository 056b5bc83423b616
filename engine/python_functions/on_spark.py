"""A call of a function in Python as a column of a frame: Spark computes the arguments, its workers the results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from engine.python_functions.calls import PythonCall

_ARGUMENT: Final = "__argument"
_RESULT: Final = "__result"


def with_call(frame: DataFrame, call: PythonCall) -> DataFrame:
    """The frame with the results as its last column. Rows come as they came."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    names = frame.columns
    arguments = [f.expr(text).alias(f"{_ARGUMENT}{at}") for at, text in enumerate(call.arguments)]
    # The last one says what type the results have.
    given = frame.select("*", *arguments, f.lit(None).cast(call.type).alias(_RESULT))
    fields = given.schema.fields
    # PySpark tells the server the columns' names without quotes around them, so plain ones are needed.
    plain = [f"__column{at}" for at in range(len(fields))]
    kept = [*plain[: len(names)], plain[-1]]
    schema = StructType()
    for name, field in zip(kept, [*fields[: len(names)], fields[-1]], strict=True):
        # What comes back says of no column that it is never null.
        schema.add(name, field.dataType)

    def called(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            made = call.on(batch.columns[len(names) : -1], batch.num_rows)
            yield pa.RecordBatch.from_arrays([*batch.columns[: len(names)], made], names=kept)

    return given.toDF(*plain).mapInArrow(called, schema).toDF(*names, call.name)
