"""The kernel of joins over all rows. `engine.joins.pairs` tells the rule.

Input, output: those of `engine.operators.join`. State: the rows of both sides, each with its copies; if they expire or
there is a further condition, also with its partners, and with the time at which it expires.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.columnar.ages import Aged
from engine.columnar.binary_rows import has_order, sort_keys
from engine.columnar.columns import Columns, taken
from engine.columnar.runs import Runs, runs_of
from engine.contract.columnar_kernel import (
    Advanced,
    Chunk,
    Layout,
    Longs,
    state_batch,
)
from engine.contract.frames import EXPIRES, GROUP, arrow_fields
from engine.contract.state_in_words import Description, Names, StateTable, state_table
from engine.joins.columnar_rows import NOBODY, NumberedRows, can_match, emitted, identities, side_fields
from engine.joins.equal_keys import Matches
from engine.joins.pairs import Paired, paired
from engine.joins.sides import PORTS, JoinKind, JoinSide
from engine.model.binary_row import row_encoder
from engine.model.row_values import to_pylist
from engine.model.timeline import Timeline
from engine.model.types import Type

_TESTED: Final = 4_096
_COUNT: Final = ("count", pa.int64())
_PARTNERS: Final = ("partners", pa.int64())
_DUE: Final = ("due", pa.int64())


class PairingColumns:
    """All six kinds. ttls_ms: of both sides, 0 for none. matches: makes the further condition, if there is one.

    The rows of a side that have no keys are sorted as Flink's RocksDB does, by the bytes of their content.
    """

    def __init__(
        self,
        kind: JoinKind,
        specs: tuple[JoinSide, JoinSide],
        ttls_ms: tuple[int, int],
        layout: Layout,
        matches: Callable[[], Matches] | None = None,
    ) -> None:
        self.kind, self.specs, self.ttls_ms = kind, specs, ttls_ms
        self.matches = None if matches is None else matches()
        self.expires = any(ttls_ms)
        self.layout = layout
        sides = (*side_fields(layout, 0), *side_fields(layout, 1))
        partners = (_PARTNERS,) if self.expires or matches is not None else ()
        aging = (_DUE, *arrow_fields(EXPIRES)) if self.expires else ()
        self.state_schema = pa.schema([pa.field("port", pa.int8()), *sides, _COUNT, *partners, *aging])

    @property
    def most_rows(self) -> int | None:
        """Few if each pair is tested: every record of such a join may meet all rows, in lists of Python."""
        return None if self.matches is None else _TESTED

    def advance(self, chunk: Chunk, timeline: Timeline) -> Advanced:
        """Every record pairs with the rows of the other side that are there."""
        records, state, kind = chunk.records, chunk.state, self.kind
        state_size, rows, nothing = len(state), NumberedRows(chunk), np.zeros(0, np.int64)
        groups = np.concatenate((state.column(GROUP).to_numpy(), records.groups))
        ports = np.concatenate((state.column("port").to_numpy(), records.ports)).astype(np.int64)
        same, order, numbers = self._numbered(rows, groups, ports, state_size)
        names = state.schema.names
        partners, dues = (state.column(name).to_numpy() if name in names else nothing for name, _ in (_PARTNERS, _DUE))
        ignores = [not self.expires and not kind.passes_unknown(port) for port in (0, 1)]
        pairs = Paired(
            *paired(
                groups,
                ports,
                same,
                order,
                can_match(chunk).astype(np.int64),
                state.column("count").to_numpy(),
                partners,
                dues,
                records.kinds.astype(np.int64),
                nothing if records.now is None else records.now,
                np.array(self.ttls_ms, np.int64),
                np.array([kind.keeps_left, kind.keeps_right], np.int64),
                np.array([kind.keeps_left or kind.is_left_only, kind.keeps_right], np.int64),
                np.array([spec.unique_key is not None for spec in self.specs], np.int64),
                np.array(ignores, np.int64),
                numbers,
                int(kind.is_left_only),
                int(kind is JoinKind.ANTI),
                int(kind is JoinKind.INNER),
                nothing if records.joint is None else records.joint,
                self._condition(rows, state_size, len(records)),
            )
        )
        lefts, rights = (_of_rows(side_rows, state_size, len(records)) for side_rows in (pairs.lefts, pairs.rights))
        columns = rows.take(0, lefts) if kind.is_left_only else (*rows.take(0, lefts), *rows.take(1, rights))
        ordinals = runs_of(pairs.causes).ordinals
        out = emitted(records, pairs.causes - state_size, ordinals, pairs.kinds.astype(np.int8), columns)
        lives = None
        if self.expires:
            assert records.now is not None, "a run with a state TTL has a clock"
            sides = np.empty_like(ports)
            sides[order] = ports
            aged = Aged(pairs.entries, pairs.records, pairs.events, pairs.event_dues)
            lives = aged.lives(records.now, state_size, self.ttls_ms, sides)
        return Advanced(out, self._state(rows, pairs, groups, ports, state_size, len(records)), lives=lives)

    def _numbered(self, rows: NumberedRows, groups: Longs, ports: Longs, kept: int) -> tuple[Longs, Longs, int]:
        """Of each row, a number that is the same for what is one row of a side, and its place in the order.

        And how many such numbers there are.
        """
        same, order = np.arange(len(groups)), np.arange(len(groups))
        numbers = len(groups)
        for port, spec in enumerate(self.specs):
            own = np.flatnonzero(ports == port)
            # A row that is the only one of its key is known, and needs no order.
            own = own[np.bincount(groups[own])[groups[own]] > 1] if len(own) else own
            if spec.unique_key == ():
                same[own] = numbers + groups[own]
                numbers += int(groups.max(initial=-1)) + 1
                continue
            wanted = range(spec.width) if spec.unique_key is None else spec.unique_key
            columns = rows.take(port, _of_rows(own, kept, len(groups) - kept), wanted)
            values, codes = np.unique(identities(groups[own], columns), return_inverse=True)
            same[own] = numbers + codes
            numbers += len(values)
            if self.kind.is_left_only and port:
                continue
            # Only a record of the other side visits them in order.
            meets = np.zeros(int(groups.max(initial=0)) + 1, np.bool_)
            meets[groups[kept:][ports[kept:] != port]] = True
            met = np.flatnonzero(meets[groups[own]])
            types = [spec.types[at] for at in wanted if spec.types]
            order[own[met][_in_order(taken(columns, met), types)]] = own[met]
        return same, order, numbers

    def _condition(self, rows: NumberedRows, kept: int, size: int) -> Callable[[int, int], bool] | None:
        """Whether two rows meet the further condition, by the numbers of the rule."""
        matches = self.matches
        if matches is None:
            return None
        lefts, rights = (
            list(zip(*map(to_pylist, rows.take(port, _of_rows(np.arange(kept + size), kept, size))), strict=True))
            for port in (0, 1)
        )
        return lambda left, right: matches(lefts[left] + rights[right]) is True

    def describe(self, state: pa.RecordBatch, names: Names) -> Description:
        """Both sides: each row with its count and, where it is kept, the number of its partners."""
        tables: list[StateTable] = []
        told = [name for name, _ in (_COUNT, _PARTNERS) if name in state.schema.names]
        first = 2
        for port, spec in enumerate(self.specs):
            after = first + len(self.layout.values[port])
            own = state.filter(pc.equal(state.column("port"), port))
            columns = (*own.columns[first:after], *map(own.column, told))
            rows = list(zip(*map(to_pylist, columns), strict=True))
            shown = [(*names.show(row[: after - first], port), *row[after - first :]) for row in rows]
            if shown:
                note = f"Kept: {spec.state}."
                tables.append(
                    state_table(f"{PORTS[port].capitalize()} rows", (*names.columns(port), *told), shown, note)
                )
            first = after
        return tuple(tables)

    def dues(self, state: pa.RecordBatch) -> tuple[Longs, Longs]:
        """The sides of the rows of a key, and when they expire."""
        return state.column("port").to_numpy(), state.column("due").to_numpy()

    def _state(
        self, rows: NumberedRows, found: Paired, groups: Longs, ports: Longs, kept: int, size: int
    ) -> pa.RecordBatch:
        """The rows that are left, of a key those of the left side first."""
        left = found.current[found.left]
        sides: list[pa.Array] = []
        for port in (0, 1):
            sides += rows.take(port, np.where(ports[left] == port, _of_rows(left, kept, size), NOBODY))
        own = [found.counts[found.left]]
        if self.expires or self.matches is not None:
            own.append(found.partners[found.left])
        if self.expires:
            runs, dues = Runs.of(groups[left]), found.dues[found.left]
            # The state of a key is freed as a whole, once the last of its rows has expired.
            last = runs.spread(np.maximum.reduceat(dues, runs.starts)) if len(left) else dues
            own += [dues, last]
        columns = (pa.array(ports[left].astype(np.int8)), *sides, *map(pa.array, own))
        return state_batch(self.state_schema, groups[left], columns)


def _of_rows(numbers: Longs, kept: int, size: int) -> Longs:
    """The numbers of `NumberedRows`, where records come first, for those of the rule; -1 stays."""
    return np.where(numbers < 0, NOBODY, np.where(numbers < kept, numbers + size, numbers - kept))


def _in_order(columns: Columns, types: Sequence[Type]) -> Longs | slice:
    """The order of rows by their bytes; by arrival if they have none."""
    if len(types) < len(columns):
        return slice(None)
    if has_order(types):
        keys = sort_keys(columns, types)
        return np.lexsort(keys[::-1]) if keys else slice(None)
    encode = row_encoder(types)
    if encode is None:
        return slice(None)
    codes = [encode(row) for row in zip(*map(to_pylist, columns), strict=True)]
    return np.array(sorted(range(len(codes)), key=lambda at: (len(codes[at]), codes[at])), np.int64)
