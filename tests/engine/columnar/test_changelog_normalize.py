"""The columnar changelog normalization equals the plain one."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.expiring import expiring_columns
from engine.contract.columnar_kernel import Columnar, Layout
from engine.contract.expiry import expiring
from engine.deduplication.columnar_normalize import ChangelogNormalizeColumns
from tests.engine.columnar.equality import ALL_KINDS, Given, Rules, check_equal, inputs
from tests.engine.columnar.one_row_per_key import ChangelogNormalizeKernel

ROW = (pa.string(), pa.int64(), pa.float64())
LAYOUT = Layout((pa.string(),), ((*ROW, pa.bool_()),), ROW)

# Few, so that rows repeat.
numbers = st.sampled_from([None, 0.0, -0.0, float("nan")])
rows = st.tuples(st.sampled_from(["a", None]), st.just(1), numbers, st.sampled_from([True, True, False]))
keys = st.tuples(st.sampled_from(["a", "b", None]))


@given(st.booleans(), st.booleans(), inputs(keys=keys, rows=rows, kinds=ALL_KINDS, min_size=10))
def test_it_comes_to_the_same(update_before: bool, repeat: bool, given: Given) -> None:
    plain = partial(ChangelogNormalizeKernel, update_before=update_before, repeat=repeat)
    columnar = partial(ChangelogNormalizeColumns, update_before=update_before, repeat=repeat)
    check_equal(Rules(plain, columnar, LAYOUT), given)


@given(st.booleans(), inputs(keys=keys, rows=rows, kinds=ALL_KINDS, min_size=10, has_clock=True))
def test_rows_that_expire_come_to_the_same(update_before: bool, given: Given) -> None:
    plain = expiring(partial(ChangelogNormalizeKernel, update_before=update_before, repeat=True), 4)
    columnar = Columnar(partial(ChangelogNormalizeColumns, update_before=update_before, repeat=True), "")
    make = expiring_columns(columnar, 4).make
    assert make is not None
    check_equal(Rules(plain, make, LAYOUT), given)
