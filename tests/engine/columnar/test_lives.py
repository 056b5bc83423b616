"""The lives of rows: from which record to which a row is present."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.joins.columnar_lives import identities, lives, lives_of_inserts


def found(changes: str, *, is_unique: bool = False) -> tuple[list[tuple[int, int, int]], list[int]]:
    words = changes.split()
    about = np.array([ord(word[1]) for word in words], np.int64)
    result = lives(about, np.array([word[0] == "+" for word in words]), is_unique=is_unique)
    return list(zip(*(list(map(int, part)) for part in result[:3]), strict=True)), sorted(result.voids.tolist())


def test_the_last_copy_to_come_is_the_first_to_go() -> None:
    assert found("+a +b +a -a +c -a -a") == ([(0, 5, 0), (1, -1, 1), (2, 3, 0), (4, -1, 4)], [6])


def test_a_row_that_comes_back_is_a_new_entry() -> None:
    assert found("-a +a -a -a +a") == ([(1, 2, 1), (4, -1, 4)], [0, 3])


def test_by_a_unique_key_the_next_row_replaces_the_one_before_and_keeps_its_entry() -> None:
    assert found("+a +a -a -a +a", is_unique=True) == ([(0, 1, 0), (1, 2, 0), (4, -1, 4)], [3])


def test_rows_that_only_come_stay() -> None:
    result = lives_of_inserts(2)
    assert (result.rows.tolist(), result.ends.tolist(), result.voids.tolist()) == ([0, 1], [-1, -1], [])


rows = st.tuples(st.integers(0, 2), st.sampled_from(["a", "", None]), st.none() | st.integers(0, 2))


@given(st.lists(rows))
def test_equal_rows_of_a_group_have_one_identity(given: list[tuple[int, str | None, int | None]]) -> None:
    columns = [pa.array([row[at] for row in given], type_) for at, type_ in ((1, pa.string()), (2, pa.int64()))]
    numbers = identities(np.array([row[0] for row in given], np.int64), columns).tolist()
    assert len(set(numbers)) == len(set(given)) == len(set(zip(given, numbers, strict=True)))
