"""How large the values of a record may be: steps that each double a text would fill all memory after some thirty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

MOST_VALUE_BYTES: Final = 64 << 20


def check_sizes(rows: pa.RecordBatch | pa.Table) -> None:
    """Raise ValueError with a sentence if one record of a step's output has a value of more than MOST_VALUE_BYTES."""
    if rows.nbytes <= MOST_VALUE_BYTES:
        return
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, values in zip(rows.schema.names, rows.columns, strict=True):
        is_text = pa.types.is_string(values.type) or pa.types.is_binary(values.type)
        largest = pc.max(pc.binary_length(values)).as_py() if is_text else values.nbytes // max(len(values), 1)
        if (largest or 0) > MOST_VALUE_BYTES:
            message = (
                f"it makes a value of {largest >> 20} MB in the column {name!r}, and {MOST_VALUE_BYTES >> 20} MB are "
                "the most. Make a shorter one."
            )
            raise ValueError(message)
