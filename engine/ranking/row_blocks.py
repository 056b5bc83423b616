"""Rows in order of their sort keys, in blocks: to insert into one long list, half of it would have to move.

most      3
blocks    abc   de   fgh        none is empty, but a single one

It is a part of rules; `engine.aggregates.sorted_blocks` has the same for values in Python.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.contract.columnar_kernel import Longs


class RowBlocks(NamedTuple):
    """keys: the sort keys of rows, by number. most: how many rows a block may have."""

    blocks: list[list[int]]
    keys: Longs
    most: int


def add_last(rows: RowBlocks, row: int) -> None:
    """Add a row that comes after all others."""
    if len(rows.blocks[-1]) == rows.most:
        rows.blocks.append(list(range(0)))
    rows.blocks[-1].append(row)


def place_for(rows: RowBlocks, key: int, behind: int) -> tuple[int, int]:
    """The block and the place in it where a sort key begins, or the one behind all rows with an equal one."""
    blocks, keys = rows.blocks, rows.keys
    low, high = 0, len(blocks) - 1
    while low < high:
        middle = (low + high) // 2
        other = keys[blocks[middle][-1]]
        if other < key or (behind and other == key):
            low = middle + 1
        else:
            high = middle
    at, block = low, blocks[low]
    low, high = 0, len(block)
    while low < high:
        middle = (low + high) // 2
        other = keys[block[middle]]
        if other < key or (behind and other == key):
            low = middle + 1
        else:
            high = middle
    return at, low


def next_place(rows: RowBlocks, at: int, place: int) -> tuple[int, int]:
    """The place behind one that has a row."""
    if place + 1 == len(rows.blocks[at]) and at + 1 < len(rows.blocks):
        return at + 1, 0
    return at, place + 1


def place_of(rows: RowBlocks, row: int) -> tuple[int, int]:
    """The block of a row, and its place in it."""
    at, place = place_for(rows, rows.keys[row], 0)
    while rows.blocks[at][place] != row:
        at, place = next_place(rows, at, place)
    return at, place


def enter_at(rows: RowBlocks, at: int, place: int, row: int) -> None:
    """Insert a row at a place."""
    block = rows.blocks[at]
    block.insert(place, row)
    if len(block) > rows.most:
        half = len(block) // 2
        rows.blocks.insert(at + 1, block[half:])
        del block[half:]


def take_at(rows: RowBlocks, at: int, place: int) -> int:
    """Remove the row at a place, and return it."""
    block = rows.blocks[at]
    row = block.pop(place)
    if len(block) == 0 and len(rows.blocks) > 1:
        rows.blocks.pop(at)
    return row
