"""Ordered rows: ranks, ties, removal by content, and the number of comparisons."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.model.row import identity
from engine.ranking.ordered_rows import BUCKET, OrderedRows

NAN = float("nan")


class Counted:
    """A sort key that counts its comparisons."""

    comparisons = 0

    def __init__(self, value: int) -> None:
        self.value = value

    def __lt__(self, other: Counted) -> bool:
        Counted.comparisons += 1
        return self.value < other.value

    def __le__(self, other: Counted) -> bool:
        Counted.comparisons += 1
        return self.value <= other.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 2)), max_size=60))
def test_it_is_a_sorted_list_from_which_the_first_equal_row_goes(steps: list[tuple[bool, int, int]]) -> None:
    rows = OrderedRows()
    plain: list[tuple[int, int]] = []
    for adds, key, content in steps:
        row = (key, content)
        if adds:
            plain.append(row)
            plain.sort(key=lambda r: r[0])
            assert rows.add((key,), row) == max(at for at, r in enumerate(plain, 1) if r[0] == key)
        elif row in plain:
            place = plain.index(row)
            assert rows.remove(row) == (place + 1, plain.pop(place))
        else:
            assert rows.remove(row) is None
        assert list(rows) == plain
        assert len(rows) == len(plain)
        assert rows.ranks(2, 4) == plain[1:4]
    again = OrderedRows.of(((row[0],), row) for row in plain)
    assert list(again) == plain
    assert again.rank(1) == (plain[0] if plain else None)


def test_a_large_partition_is_not_walked() -> None:
    size = 40_000
    rows = OrderedRows()
    for number in range(size):
        rows.add((Counted(number * 7919 % size),), (number,))
    assert [row[0] * 7919 % size for row in rows] == list(range(size))
    Counted.comparisons = 0
    rank = rows.add((Counted(size // 2),), ("new",))
    rows.remove(("new",))
    assert rank == size // 2 + 2
    assert Counted.comparisons < 200, Counted.comparisons


def test_buckets_that_empty_are_dropped() -> None:
    rows = OrderedRows()
    for number in range(5 * BUCKET):
        rows.add((number,), (number,))
    for number in range(5 * BUCKET - 1):
        assert rows.remove((number,)) == (1, (number,))
    assert rows.rank(1) == (5 * BUCKET - 1,)
    assert rows.remove((5 * BUCKET - 1,)) is not None
    assert len(rows) == 0
    assert rows.add((1,), (1,)) == 1


def test_rows_are_the_same_by_content() -> None:
    rows = OrderedRows()
    rows.add((1,), (float("nan"), [1, {"k": [NAN]}]))
    assert rows.remove((NAN, [1, {"k": [float("nan")]}])) is not None
    assert identity((1, "a")) == (1, "a")


def test_rows_within_rows_are_the_same_by_content() -> None:
    rows = OrderedRows()
    rows.add((1,), (1, ("a", (float("nan"), 2))))
    assert rows.remove((1, ("a", (float("nan"), 2)))) is not None


def test_nan_is_not_the_text_nan() -> None:
    rows = OrderedRows()
    rows.add((1,), (NAN, "a"))
    assert rows.remove(("NaN", "a")) is None
    assert rows.remove((float("nan"), "a")) is not None
