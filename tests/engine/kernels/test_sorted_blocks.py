"""Sorted blocks behave like one sorted list of any length."""

from __future__ import annotations

from random import Random

import pytest

from engine.aggregates.sorted_blocks import Blocks, insert, remove


def test_blocks_are_a_sorted_list_through_growth_and_shrinking() -> None:
    random = Random(7)
    blocks: Blocks = []
    values: list[int] = []
    for _ in range(5_000):
        value = random.randrange(2_000)
        insert(blocks, value)
        values.append(value)
    assert [value for block in blocks for value in block] == sorted(values)
    assert len(blocks) > 1
    random.shuffle(values)
    while values:
        remove(blocks, values.pop())
        if len(values) % 500 == 0:
            assert [value for block in blocks for value in block] == sorted(values)
    assert blocks == []


def test_what_is_not_there_cannot_be_removed() -> None:
    blocks: Blocks = []
    insert(blocks, 1)
    for value in (0, 2):
        with pytest.raises(KeyError):
            remove(blocks, value)
