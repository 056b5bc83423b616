"""Which joins run on whole batches, and on which kernel."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from engine.columnar.binary_rows import has_order
from engine.columnar.columns import without_equality
from engine.contract.columnar_kernel import Columnar
from engine.joins.columnar_pairs import PairingColumns
from engine.joins.sides import PORTS, JoinKind, JoinSide
from engine.model.types import Type


def columnar_join(
    kind: JoinKind,
    left: JoinSide,
    right: JoinSide,
    key_types: Iterable[Type],
    *,
    has_condition: bool,
    is_bundled: bool,
    ttls_ms: tuple[int, int],
) -> Columnar:
    """Whether a join runs on whole batches, and why. key_types: of the join key. ttls_ms: of the sides, 0 for none."""
    if is_bundled:
        return Columnar(None, "record by record: mini-batch folds the changes of a bundle first")
    if has_condition:
        return Columnar(None, "record by record: a further condition is checked pair by pair")
    if refused := without_equality(key_types):
        return Columnar(None, f"record by record: a key of {refused.flink} has no columnar kernel")
    for port, side in zip(PORTS, (left, right), strict=True):
        known_by = side.types if side.unique_key is None else [side.types[place] for place in side.unique_key]
        if not has_order(known_by):
            what = "row" if side.unique_key is None else "unique key"
            return Columnar(
                None, f"record by record: the {port} input's {what} has a type that is compared value by value"
            )
    return Columnar(partial(PairingColumns, kind, (left, right), ttls_ms), "columnar: rows meet by the join key alone")
