"""The rule of joins over all rows: the pairs of every record, and what becomes of the rows of both sides.

    clock      0    4    9    12          the TTL is 10
    left       +a             +c
    right           +x   -y               y is unknown, so its retraction still takes back the pairs that it had
    a          [---------w---)            where rows count their partners, a partner's change writes them
    pairs           ax   ay

Rows are those of the state, then the records; each has a place in the order in which the rows of its side are joined,
and keeps that of its first record, whatever replaces it. Where no row expires and there is no further condition, all
rows of a side have the same partners: the rows of the other one, which are only visited, and sorted, for what is
emitted. Else each row has its own number of partners.
Source: Flink StreamingJoinOperator, StreamingSemiAntiJoinOperator, JoinRecordStateViews.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine.columnar.ages import COMES, EXPIRED, GOES, HELD, STAYS, Told, nothing_told, tell, told_in_arrays
from engine.columnar.rules import rule
from engine.contract.columnar_kernel import Longs
from engine.joins.sorted_rows import number_of, settle
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER
from engine.model.timeline import MAX_WATERMARK, MIN_WATERMARK

Matches = Callable[[int, int], bool]
"""Whether a left and a right row, by their numbers, meet the further condition."""


class Paired(NamedTuple):
    """The output, and the rows of both sides.

    causes, kinds, lefts, rights: of each output the record, its kind, and the numbers of its rows; -1 for none.
    current, counts, partners, dues: by place, what the row is now, its copies and partners, and when it expires. left:
    the places of those that are there in the end. entries, records, events, event_dues: what is told of the lives of
    rows, by their places (`engine.columnar.ages`).
    """

    causes: Longs
    kinds: Longs
    lefts: Longs
    rights: Longs
    current: Longs
    counts: Longs
    partners: Longs
    dues: Longs
    left: Longs
    entries: Longs
    records: Longs
    events: Longs
    event_dues: Longs


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
    joint: Longs,
    matches: Matches | None,
) -> tuple[Longs, ...]:
    """The pairs. groups, ports, same, order: of the rows; same: below `numbers`, equal for what is one row of a side.

    order: the place of each. can_match: of each group. kept_...: of the rows of the state. kinds, now: of the records.
    ttls_ms, keeps, writes, is_unique, ignores: of each side, its TTL (0 for none), whether its rows are padded, whether
    a change of their partners writes them, whether a row replaces the one with its key, and whether the retraction of
    an unknown row is ignored. joint: of the records, 1 for a row that the next one replaces, 2 for that one; empty
    without bundles. What only tells of expiry is empty if no row expires, kept_partners if all have the same ones.
    """
    total, state_size, expires = len(groups), len(kept_counts), ttls_ms[0] + ttls_ms[1] > 0
    counts_each = expires or matches is not None
    aging, counting = total if expires else 0, total if counts_each else 0
    matched = list(range(0))
    out = Output(list(range(0)), list(range(0)), list(range(0)), list(range(0)))
    told, left = nothing_told(), list(range(0))
    current, counts, at = [0] * total, [0] * total, [-1] * numbers
    partners, dues = [0] * counting, [0] * aging
    left_rows, right_rows, sorted_to, there, gone = list(range(0)), list(range(0)), [0, 0], [0, 0], [0, 0]
    next_kept, record = 0, state_size
    for group in range(len(can_match)):
        soonest, ageless = MAX_WATERMARK, False
        is_told = expires and record < total and groups[record] == group
        while next_kept < state_size and groups[next_kept] == group:
            row, side = order[next_kept], ports[next_kept]
            current[row], counts[row], at[same[next_kept]] = next_kept, kept_counts[next_kept], row
            there[side] += counts[row]
            if side == 0:
                left_rows.append(row)
            else:
                right_rows.append(row)
            if counts_each:
                partners[row] = kept_partners[next_kept]
            if expires:
                dues[row] = kept_dues[next_kept]
                if is_told:
                    tell(told, row, record, HELD, dues[row])
                soonest = min(soonest, dues[row])
                ageless = ageless or (dues[row] == MAX_WATERMARK and ttls_ms[side] > 0)
            next_kept += 1
        while record < total and groups[record] == group:
            time, port = now[record - state_size] if expires else MIN_WATERMARK, ports[record]
            if time != MIN_WATERMARK and (ageless or soonest <= time):
                settle(left_rows, sorted_to, counts, gone, 0)
                settle(right_rows, sorted_to, counts, gone, 1)
                # What was written before the clock's first time counts from the record that first finds it.
                if ageless:
                    _begin(left_rows, dues, time, ttls_ms[0])
                    _begin(right_rows, dues, time, ttls_ms[1])
                    ageless = False
                _expire(left_rows, dues, same, current, at, time, record, told)
                _expire(right_rows, dues, same, current, at, time, record, told)
                soonest = min(_soonest(left_rows, dues), _soonest(right_rows, dues))
                sorted_to[0], sorted_to[1] = len(left_rows), len(right_rows)
                there[0], there[1] = number_of(left_rows, counts), number_of(right_rows, counts)
            kind, is_there, partner = kinds[record - state_size], can_match[group], 1 - port
            adds, number = kind in (INSERT, UPDATE_AFTER), there[port]
            due = _due(time, ttls_ms[port])
            replaces, is_joint = False, joint[record - state_size] if len(joint) > 0 else 0
            row = at[same[record]] if is_there else -1
            if is_there and not adds and row < 0 and ignores[port]:
                record += 1
                continue
            met_number = there[partner]
            if matches is not None and is_there:
                rows = left_rows if port == 1 else right_rows
                settle(rows, sorted_to, counts, gone, partner)
                matched.clear()
                met_number = 0
                for other in rows:
                    if _match(matches, record, current[other], port):
                        matched.append(other)
                        met_number += counts[other]
            if is_there and adds:
                if row < 0:
                    row = order[record]
                    at[same[record]], counts[row] = row, 1
                    if port == 0:
                        left_rows.append(row)
                    else:
                        right_rows.append(row)
                    if expires:
                        tell(told, row, record, COMES, due)
                elif is_unique[port]:
                    replaces = True
                else:
                    counts[row] += 1
                there[port] += 0 if replaces else 1
                current[row] = record
                if counts_each:
                    partners[row] = met_number
                if expires:
                    dues[row] = due
            elif is_there and row >= 0:
                counts[row] -= 1
                there[port] -= 1
                if not counts[row]:
                    gone[port] += 1
                    at[same[record]] = -1
                if expires and counts[row]:
                    dues[row] = due
                elif expires:
                    tell(told, row, record, GOES, MAX_WATERMARK)
            if is_there:
                soonest = min(soonest, due)
                ageless = ageless or (due == MAX_WATERMARK and ttls_ms[port] > 0)

            is_alone = not is_there or met_number == 0
            if left_only and port == 0 and is_alone == is_anti:
                _put(out, record, kind, record, -1, port)
            elif keeps[port] and is_alone:
                _put(out, record, INSERT if adds else DELETE, record, -1, port)
            # Whether the rows of the other side have got their first partner, or have lost their last one.
            turns = (number if adds else there[port]) == 0
            if not is_alone and not (left_only and (port == 0 or not (turns or counts_each))):
                others = matched
                if matches is None:
                    others = left_rows if port == 1 else right_rows
                    settle(others, sorted_to, counts, gone, partner)
                pair = kind if is_inner or (not adds and not keeps[port]) else (INSERT if adds else DELETE)
                turned = (DELETE if adds else INSERT) if is_anti else kind
                written = _due(time, ttls_ms[partner])
                for other in others:
                    if counts_each:
                        was_alone = partners[other] == 0
                        partners[other] += int(was_alone or not replaces) if adds else -1
                        turns = was_alone if adds else partners[other] == 0
                        if expires and writes[partner]:
                            dues[other] = written
                    theirs, pads = current[other], keeps[partner] and turns
                    if pads and is_joint:
                        # A partner of both is not padded in between.
                        sibling = record + 1 if is_joint == 1 else record - 1
                        pads = not _match(matches, sibling, theirs, port)
                    for _ in range(counts[other]):
                        if left_only and turns:
                            _put(out, record, turned, -1, theirs, port)
                        if not left_only:
                            if pads and adds:
                                _put(out, record, DELETE, -1, theirs, port)
                            _put(out, record, pair, record, theirs, port)
                            if pads and not adds:
                                _put(out, record, INSERT, -1, theirs, port)
                ageless = ageless or (writes[partner] > 0 and written == MAX_WATERMARK and ttls_ms[partner] > 0)
            record += 1
        for side in range(2):
            rows = left_rows if side == 0 else right_rows
            settle(rows, sorted_to, counts, gone, side)
            for row in rows:
                left.append(row)
                if is_told:
                    tell(told, row, record, STAYS, dues[row])
            rows.clear()
            sorted_to[side], there[side] = 0, 0
    found = (
        np.array(out.causes, np.int64),
        np.array(out.kinds, np.int64),
        np.array(out.lefts, np.int64),
        np.array(out.rights, np.int64),
        np.array(current, np.int64),
        np.array(counts, np.int64),
        np.array(partners, np.int64),
        np.array(dues, np.int64),
        np.array(left, np.int64),
    )
    return found + told_in_arrays(told)


def _match(matches: Matches | None, mine: int, theirs: int, port: int) -> bool:
    """Whether a row of the record's own side and one of the other side meet the condition."""
    if matches is not None:
        return matches(mine, theirs) if port == 0 else matches(theirs, mine)
    return True


def _put(out: Output, cause: int, kind: int, mine: int, theirs: int, port: int) -> None:
    """Emit a row of the record's own side beside one of the other side."""
    out.causes.append(cause)
    out.kinds.append(kind)
    out.lefts.append(mine if port == 0 else theirs)
    out.rights.append(theirs if port == 0 else mine)


def _due(time: int, ttl_ms: int) -> int:
    """When a row expires that is written at this time of the clock."""
    return MAX_WATERMARK if time == MIN_WATERMARK or ttl_ms == 0 else time + ttl_ms


def _begin(rows: list[int], dues: list[int], time: int, ttl_ms: int) -> None:
    """Rows that have no age yet are written now."""
    for row in rows:
        if ttl_ms > 0 and dues[row] == MAX_WATERMARK:
            dues[row] = time + ttl_ms


def _expire(
    rows: list[int], dues: list[int], same: Longs, current: list[int], at: list[int], time: int, cause: int, told: Told
) -> None:
    """Remove the rows of a side that have expired."""
    staying = 0
    for row in rows:
        if dues[row] <= time:
            at[same[current[row]]] = -1
            tell(told, row, cause, EXPIRED, dues[row])
        else:
            rows[staying] = row
            staying += 1
    while len(rows) > staying:
        rows.pop()


def _soonest(rows: list[int], dues: list[int]) -> int:
    """When the first of these rows expires."""
    soonest = MAX_WATERMARK
    for row in rows:
        soonest = min(soonest, dues[row])
    return soonest
