"""The rule of joins on equal keys: the pairs of every record, and what becomes of the rows of both sides.

    clock      0    4    9    12          the TTL is 10
    left       +a             +c
    right           +x   -y               y is unknown, so its retraction still takes back the pairs that it had
    a          [---------w---)            where rows count their partners, a partner's change writes them
    pairs           ax   ay

Rows are those of the state, then the records; each has a place in the order in which the rows of its side are joined,
and keeps that of its first record, whatever replaces it. Where no row expires, all rows of a side have the same
partners: the rows of the other one, which are only visited, and sorted, for what is emitted. The plain telling is
`engine.joins.pairing`.
Source: Flink StreamingJoinOperator, StreamingSemiAntiJoinOperator, JoinRecordStateViews.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from engine.columnar.ages import ages_in_arrays, ages_of, begin, expire, hold, remove, settle, write
from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK

# So many new rows are inserted one by one; more are sorted with the others.
_FEW: Final = 8


class Paired(NamedTuple):
    """The output, the rows of both sides, and what is told of those that expire.

    causes, kinds, lefts, rights: of each output the record, its kind, and the numbers of its rows; -1 for none.
    current, counts, partners: by place, what the row is now, its copies and its partners. left: the places of those
    that are there in the end. The others are those of `Aged`, whose entries are places.
    """

    causes: Longs
    kinds: Longs
    lefts: Longs
    rights: Longs
    current: Longs
    counts: Longs
    partners: Longs
    left: Longs
    dues: Longs
    held: Longs
    had: Longs
    met: Longs


class Output(NamedTuple):
    """The output so far."""

    causes: list[int]
    kinds: list[int]
    lefts: list[int]
    rights: list[int]


@rule
def paired(
    groups: Longs,
    ports: Longs,
    same: Longs,
    order: Longs,
    can_match: Longs,
    kept_counts: Longs,
    kept_partners: Longs,
    kept_dues: Longs,
    kinds: Longs,
    now: Longs,
    ttls_ms: Longs,
    keeps: Longs,
    writes: Longs,
    is_unique: Longs,
    ignores: Longs,
    numbers: int,
    left_only: int,
    is_anti: int,
    is_inner: int,
) -> tuple[Longs, ...]:
    """The pairs. groups, ports, same, order: of the rows; same: below `numbers`, equal for what is one row of a side.

    order: the place of each. can_match: of each group. kept_...: of the rows of the state. kinds, now: of the records.
    ttls_ms, keeps, writes, is_unique, ignores: of each side, its TTL (0 for none), whether its rows are padded, whether
    a change of their partners writes them, whether a row replaces the one with its key, and whether the retraction of
    an unknown row is ignored. What only tells of expiry is empty if no row expires.
    """
    total, kept, expires = len(groups), len(kept_counts), ttls_ms[0] + ttls_ms[1] > 0
    aging = total if expires else 0
    out = Output(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    ages, partners, left = ages_of(ttls_ms, aging), [0] * aging, list(range(0))
    current, counts, at = [0] * total, [0] * total, [-1] * numbers
    left_rows, right_rows, sorted_to, there, gone = list(range(0)), list(range(0)), [0, 0], [0, 0], [0, 0]
    next_kept, record = 0, kept
    for group in range(len(can_match)):
        first_time = MAX_WATERMARK
        if expires and record < total and groups[record] == group:
            first_time = now[record - kept]
        while next_kept < kept and groups[next_kept] == group:
            row, side = order[next_kept], ports[next_kept]
            current[row], counts[row], at[same[next_kept]] = next_kept, kept_counts[next_kept], row
            there[side] += counts[row]
            if side == 0:
                left_rows.append(row)
            else:
                right_rows.append(row)
            if expires:
                partners[row] = kept_partners[next_kept]
                hold(ages, row, side, kept_dues[next_kept], record, first_time)
            next_kept += 1
        begin(ages)
        while record < total and groups[record] == group:
            time, port = now[record - kept] if expires else MIN_WATERMARK, ports[record]
            if expires and expire(ages, record, time) > 0:
                _settle(left_rows, sorted_to, counts, gone, 0)
                _settle(right_rows, sorted_to, counts, gone, 1)
                there[0] = _forget(left_rows, ages.firsts, same, current, counts, at)
                there[1] = _forget(right_rows, ages.firsts, same, current, counts, at)
                sorted_to[0], sorted_to[1] = len(left_rows), len(right_rows)
            kind, is_there, partner = kinds[record - kept], can_match[group], 1 - port
            adds, number = kind in (INSERT, UPDATE_AFTER), there[port]
            replaces = False
            row = at[same[record]] if is_there else -1
            if is_there and not adds and row < 0 and ignores[port]:
                record += 1
                continue
            if is_there and adds:
                if row < 0:
                    row = order[record]
                    at[same[record]], counts[row] = row, 1
                    if port == 0:
                        left_rows.append(row)
                    else:
                        right_rows.append(row)
                elif is_unique[port]:
                    replaces = True
                else:
                    counts[row] += 1
                there[port] += 0 if replaces else 1
                current[row] = record
                if expires:
                    partners[row] = there[partner]
                    write(ages, row, port, record, time)
            elif is_there and row >= 0:
                counts[row] -= 1
                there[port] -= 1
                if not counts[row]:
                    gone[port] += 1
                    at[same[record]] = -1
                if counts[row]:
                    write(ages, row, port, record, time)
                else:
                    remove(ages, row, record)

            is_alone = not is_there or there[partner] == 0
            if left_only and port == 0 and is_alone == is_anti:
                _put(out, record, kind, record, -1, port)
            elif keeps[port] and is_alone:
                _put(out, record, INSERT if adds else DELETE, record, -1, port)
            # Whether the rows of the other side have got their first partner, or have lost their last one.
            turns = (number if adds else there[port]) == 0
            if not is_alone and not (left_only and (port == 0 or not (turns or expires))):
                others = left_rows if port == 1 else right_rows
                _settle(others, sorted_to, counts, gone, partner)
                pair = kind if is_inner or (not adds and not keeps[port]) else (INSERT if adds else DELETE)
                turned = (DELETE if adds else INSERT) if is_anti else kind
                for other in others:
                    if expires:
                        was_alone = partners[other] == 0
                        partners[other] += int(was_alone or not replaces) if adds else -1
                        turns = was_alone if adds else partners[other] == 0
                        if writes[partner]:
                            write(ages, other, partner, record, time)
                    theirs, pads = current[other], keeps[partner] and turns
                    for _ in range(counts[other]):
                        if left_only and turns:
                            _put(out, record, turned, -1, theirs, port)
                        if not left_only:
                            if pads and adds:
                                _put(out, record, DELETE, -1, theirs, port)
                            _put(out, record, pair, record, theirs, port)
                            if pads and not adds:
                                _put(out, record, INSERT, -1, theirs, port)
            record += 1
        for side in range(2):
            rows = left_rows if side == 0 else right_rows
            _settle(rows, sorted_to, counts, gone, side)
            for row in rows:
                left.append(row)
            rows.clear()
            sorted_to[side], there[side] = 0, 0
        settle(ages)
    return (
        np.array(out.causes, np.int64),
        np.array(out.kinds, np.int64),
        np.array(out.lefts, np.int64),
        np.array(out.rights, np.int64),
        np.array(current, np.int64),
        np.array(counts, np.int64),
        np.array(partners, np.int64),
        np.array(left, np.int64),
    ) + ages_in_arrays(ages)


def _put(out: Output, cause: int, kind: int, mine: int, theirs: int, port: int) -> None:
    """Emit a row of the record's own side beside one of the other side."""
    out.causes.append(cause)
    out.kinds.append(kind)
    out.lefts.append(mine if port == 0 else theirs)
    out.rights.append(theirs if port == 0 else mine)


def _settle(rows: list[int], sorted_to: list[int], counts: list[int], gone: list[int], side: int) -> None:
    """Sort the rows of a side that have come since it was sorted, and leave out those that are gone."""
    if gone[side]:
        staying, first = 0, sorted_to[side]
        for at, row in enumerate(rows):
            if at == first:
                sorted_to[side] = staying
            if counts[row]:
                rows[staying] = row
                staying += 1
        sorted_to[side] = min(sorted_to[side], staying)
        while len(rows) > staying:
            rows.pop()
        gone[side] = 0
    if len(rows) - sorted_to[side] > _FEW:
        rows.sort()
    else:
        for at in range(max(1, sorted_to[side]), len(rows)):
            row, place = rows[at], at
            while place and rows[place - 1] > row:
                rows[place] = rows[place - 1]
                place -= 1
            rows[place] = row
    sorted_to[side] = len(rows)


def _forget(
    rows: list[int], firsts: list[int], same: Longs, current: list[int], counts: list[int], at: list[int]
) -> int:
    """Remove the rows of a side that have expired. Returns how many are left, with their copies."""
    number, staying = 0, 0
    for row in rows:
        if firsts[row] < 0:
            at[same[current[row]]] = -1
        else:
            rows[staying] = row
            staying += 1
            number += counts[row]
    while len(rows) > staying:
        rows.pop()
    return number
