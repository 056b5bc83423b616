"""The kernel of a join over all rows, and the explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from engine.columnar.binary_rows import has_order
from engine.contract.bundling import Bundling
from engine.contract.columnar_kernel import Columnar
from engine.joins.columnar_pairs import PairingColumns
from engine.joins.equal_keys import Matches
from engine.joins.folded_sides import FoldedSides
from engine.joins.sides import JoinKind, JoinSide
from engine.mini_batch.kernels import bundled_columns
from engine.model.types import Type


def columnar_join(
    kind: JoinKind,
    sides: tuple[JoinSide, JoinSide],
    ttls_ms: tuple[int, int] = (0, 0),
    matches: Callable[[], Matches] | None = None,
    bundles: Bundling | None = None,
) -> Columnar:
    """The kernel. matches: makes the further condition. ttls_ms: of the sides, 0 for none."""
    why = "rows meet by the join key alone"
    if matches is not None:
        why = "a further condition is checked pair by pair"
    make = partial(PairingColumns, kind, sides, ttls_ms, matches=matches)
    return bundled_columns(Columnar(make, f"columnar: {why}"), bundles, FoldedSides(kind, sides))


def layout_of(
    key_types: Iterable[Type], sides: Iterable[JoinSide], ttls_ms: tuple[int, int], *, is_simple: bool
) -> int:
    """The version of states since which it keeps them in columns. is_simple: without a condition and bundles."""
    known_by = [
        side.types[place]
        for side in sides
        for place in (range(len(side.types)) if side.unique_key is None else side.unique_key)
    ]
    if not is_simple or not has_order(known_by) or any(type_.has_floats for type_ in key_types):
        return 8
    return 1 if any(ttls_ms) else 7
