"""Values as text: a FLOAT as the number that it means."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.model.printing import printable

SINGLE = pa.float32()


@pytest.mark.parametrize(
    ("type_", "given", "printed"),
    [
        (SINGLE, [24.6, None, 1e-7, 16_777_216.0], [24.6, None, 1e-7, 16_777_216.0]),
        (pa.float64(), [24.600000381469727], [24.600000381469727]),
        (
            pa.struct([("f", SINGLE), ("n", pa.int64())]),
            [{"f": 0.1, "n": 1}, {"f": None, "n": 2}, None],
            [{"f": 0.1, "n": 1}, {"f": None, "n": 2}, None],
        ),
        (pa.struct([("n", pa.int64())]), [{"n": 1}], [{"n": 1}]),
        (pa.list_(SINGLE), [[0.3, None], None, []], [[0.3, None], None, []]),
        (pa.list_(pa.struct([("f", SINGLE)])), [[{"f": 0.7}]], [[{"f": 0.7}]]),
        (pa.map_(pa.string(), SINGLE), [[("a", 0.7), ("b", None)]], [[("a", 0.7), ("b", None)]]),
        (pa.map_(pa.string(), pa.int64()), [[("a", 1)]], [[("a", 1)]]),
    ],
)
def test_a_float_is_printed_as_the_number_that_it_means(type_: pa.DataType, given: object, printed: object) -> None:
    assert printable(pa.array(given, type_)) == printed
