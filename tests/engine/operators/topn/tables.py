"""Top N cases in short form: the order in SQL, the range as a tuple, columns by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.contract.columnar_kernel import ColumnarKernel, Layout
from engine.model.changelog import ALL_CHANGES, ChangelogMode, UpdateKind
from engine.ranking.kernels import topn_columns
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import Nulls, SortColumn
from tests.engine.cases import Case, parse

Range = tuple[int, int | str] | tuple[int, int | str, bool]
Make = Callable[[Layout], ColumnarKernel]


def sort_columns(order: str, names: Sequence[str]) -> list[SortColumn]:
    """The sort columns of an order such as `v DESC NULLS FIRST, id`."""
    columns = []
    for item in order.split(","):
        words = item.split()
        nulls = Nulls[words[-1]] if "NULLS" in words else Nulls.LOWEST
        columns.append(SortColumn(names.index(words[0]), "DESC" in words, nulls, is_float=words[0] == "f"))
    return columns


def columns(
    names: Sequence[str],
    order: str,
    ranks: Range,
    update_before: bool,
    row_key: Sequence[str] | None = None,
    *,
    append: bool = False,
    ttl_ms: int = 0,
) -> Make:
    """The kernel that the planner would choose. row_key: the upsert key of UpdateFast."""
    places = None if row_key is None else tuple(names.index(name) for name in row_key)
    made = topn_columns(ranks_of(names, ranks, update_before), sort_columns(order, names), append, places, ttl_ms).make
    assert made is not None
    return made


def ranks_of(names: Sequence[str], ranks: Range, update_before: bool) -> Ranks:
    """The range of a tuple: the first rank, the last one or the column that has it, whether ranks are numbered."""
    start, end, *rest = ranks
    number, place = (end, None) if isinstance(end, int) else (None, names.index(end))
    return Ranks(start, number, place, bool(rest and rest[0]), update_before)


def ranked(
    title: str,
    order: str,
    ranks: Range,
    given: str,
    expect: str,
    *,
    key: tuple[str, ...] = ("cat",),
    update_before: bool = True,
    row_key: Sequence[str] | None = None,
    append: bool = False,
    leaves_state: bool | None = None,
    ttl_ms: int = 0,
) -> Case:
    """A case of Top N. append: AppendFast; row_key: UpdateFast; neither: Retract."""
    made = columns(columns_of(given), order, ranks, update_before, row_key, append=append, ttl_ms=ttl_ms)
    return Case(title, given, expect, None, key, columnar=made, mode=mode_of(update_before), leaves_state=leaves_state)


def columns_of(given: str) -> list[str]:
    """The columns of a table of records."""
    return [name for name in parse(given)[0] if name not in ("seq", "kind", "clock")]


def mode_of(update_before: bool) -> ChangelogMode:
    """The changelog mode of Top N."""
    return ChangelogMode.of(ALL_CHANGES, UpdateKind.BEFORE_AND_AFTER if update_before else UpdateKind.ONLY_UPDATE_AFTER)
