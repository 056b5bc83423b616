"""RANK and DENSE_RANK, our own addition: rows that are equally good share a rank."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from engine.contract.kernel import Input, Output, Saved
from engine.model.changelog import DELETE, INSERT, UPDATE_AFTER
from engine.model.row_values import to_pylist
from engine.ranking.ranks import Ranks
from engine.ranking.sort_keys import sort_key_of
from engine.ranking.tied import TiedTopN
from tests.engine.cases import Case, check_cases
from tests.engine.operators.topn.tables import Make, columns_of, mode_of, sort_columns
from tests.engine.operators.topn.test_properties import NAMES, ORDERS, Row, apply, changes_of, ranges, rows, run_part

SCORES = """
    seq  kind  cat  id  v
    1    +I    a    1   10
    2    +I    a    2   20
    3    +I    a    3   20
    4    +I    a    4   15
    5    +I    a    5   20
    6    -D    a    2   20
    7    -U    a    3   20
    7    +U    a    3   5
    8    -D    a    5   20
"""


def columns(
    names: Sequence[str], order: str, ranks: tuple[int, int, bool], function: str, append: bool, update_before: bool
) -> Make:
    made = Ranks(ranks[0], ranks[1], None, ranks[2], update_before)
    return partial(TiedTopN, made, sort_columns(order, names), dense=function == "DENSE_RANK", insert_only=append)


def run(
    order: str,
    ranks: tuple[int, int, bool],
    function: str,
    inputs: Sequence[Input],
    saved: Saved | None = None,
    *,
    append: bool = False,
) -> tuple[Output, Saved | None]:
    """The output of a part of an input, and the state."""
    return run_part(columns(NAMES, order, ranks, function, append, True), ranks, inputs, saved)


def tied(
    title: str,
    function: str,
    ranks: tuple[int, int, bool],
    given: str,
    expect: str,
    *,
    append: bool = False,
    update_before: bool = True,
    leaves_state: bool | None = None,
) -> Case:
    made = columns(columns_of(given), "v DESC", ranks, function, append, update_before)
    mode = mode_of(update_before)
    return Case(title, given, expect, key=("cat",), columnar=made, mode=mode, leaves_state=leaves_state)


test_cases = check_cases(
    [
        tied(
            "RANK: ties share a rank and leave a gap after them",
            "RANK",
            (1, 3, True),
            SCORES,
            """
            seq  kind  cat  id  v   rank
            1    +I    a    1   10  1
            2    -U    a    1   10  1
            2    +U    a    1   10  2
            2    +I    a    2   20  1
            3    -U    a    1   10  2
            3    +U    a    1   10  3
            3    +I    a    3   20  1
            4    -D    a    1   10  3
            4    +I    a    4   15  3
            5    -D    a    4   15  3
            5    +I    a    5   20  1
            6    -D    a    2   20  1
            6    +I    a    4   15  3
            7    -D    a    3   20  1
            7    -U    a    4   15  3
            7    +U    a    4   15  2
            7    +I    a    1   10  3
            8    -D    a    5   20  1
            8    -U    a    4   15  2
            8    +U    a    4   15  1
            8    -U    a    1   10  3
            8    +U    a    1   10  2
            8    +I    a    3   5   3
        """,
        ),
        tied(
            "DENSE_RANK: a tie moves nobody",
            "DENSE_RANK",
            (1, 2, True),
            SCORES,
            """
            seq  kind  cat  id  v   rank
            1    +I    a    1   10  1
            2    -U    a    1   10  1
            2    +U    a    1   10  2
            2    +I    a    2   20  1
            3    +I    a    3   20  1
            4    -D    a    1   10  2
            4    +I    a    4   15  2
            5    +I    a    5   20  1
            6    -D    a    2   20  1
            7    -D    a    3   20  1
            8    -D    a    5   20  1
            8    -U    a    4   15  2
            8    +U    a    4   15  1
            8    +I    a    1   10  2
        """,
        ),
        tied(
            "without the rank only what crosses the end is heard of",
            "RANK",
            (1, 3, False),
            SCORES,
            """
            seq  kind  cat  id  v
            1    +I    a    1   10
            2    +I    a    2   20
            3    +I    a    3   20
            4    -D    a    1   10
            4    +I    a    4   15
            5    -D    a    4   15
            5    +I    a    5   20
            6    -D    a    2   20
            6    +I    a    4   15
            7    -D    a    3   20
            7    +I    a    1   10
            8    -D    a    5   20
            8    +I    a    3   5
        """,
        ),
        tied(
            "an offset: rows come in from above and from below",
            "DENSE_RANK",
            (2, 2, False),
            SCORES,
            """
            seq  kind  cat  id  v
            2    +I    a    1   10
            4    -D    a    1   10
            4    +I    a    4   15
            8    -D    a    4   15
            8    +I    a    1   10
        """,
        ),
        tied(
            "who needs no -U gets a +U by the row's own key",
            "RANK",
            (1, 2, True),
            """
            seq  kind  cat  id  v
            1    +I    a    1   10
            2    +I    a    2   20
        """,
            """
            seq  kind  cat  id  v   rank
            1    +I    a    1   10  1
            2    +U    a    1   10  2
            2    +I    a    2   20  1
        """,
            append=True,
            update_before=False,
        ),
        tied(
            "a retraction of an unknown row is ignored, and nothing is left of a known one",
            "RANK",
            (1, 2, True),
            """
            seq  kind  cat  id  v
            1    -D    a    1   10
            2    +I    a    1   10
            3    -D    a    1   10
        """,
            """
            seq  kind  cat  id  v   rank
            2    +I    a    1   10  1
            3    -D    a    1   10  1
        """,
            leaves_state=False,
        ),
    ]
)


def batch(table: Sequence[Row], order: str, ranks: tuple[int, int, bool], function: str) -> Counter[Row]:
    """The answer of a batch query: sort, then number."""
    key = sort_key_of(sort_columns(order, NAMES))
    keys = [key(row) for row in table]
    found: Counter[Row] = Counter()
    for row in table:
        better = [one for one in keys if one < key(row)]
        rank = 1 + (len(set(better)) if function == "DENSE_RANK" else len(better))
        if ranks[0] <= rank <= ranks[1]:
            found[(*row, rank) if ranks[2] else row] += 1
    return found


functions = st.sampled_from(["RANK", "DENSE_RANK"])


@given(st.lists(st.tuples(st.integers(0, 9), rows), max_size=25), st.sampled_from(ORDERS), ranges, functions)
def test_it_is_the_batch_answer_after_every_record_and_leaves_nothing(
    steps: list[tuple[int, Row]], order: str, ranks: tuple[int, int, bool], function: str
) -> None:
    inputs, table = changes_of(steps)
    out, saved = run(order, ranks, function, inputs)
    shown: Counter[Row] = Counter()
    now: list[Row] = []
    for item in inputs:
        apply(shown, [record for record in out.emitted if record.seq == item.seq])
        if item.kind in (INSERT, UPDATE_AFTER):
            now.append(item.row)
        else:
            now.remove(item.row)
        assert +shown == batch(now, order, ranks, function), item
    back = [Input(len(inputs) + n, DELETE, row) for n, row in enumerate(table, 1)]
    rest, left = run(order, ranks, function, back, pickle.loads(pickle.dumps(saved)))
    assert left is None
    apply(shown, rest.emitted)
    assert not +shown


@given(st.lists(rows, max_size=25), st.sampled_from(ORDERS), ranges, functions, st.integers(0, 25))
def test_over_an_insert_only_input_no_more_is_kept_than_the_range(
    table: list[Row], order: str, ranks: tuple[int, int, bool], function: str, cut: int
) -> None:
    inputs = [Input(seq, INSERT, row) for seq, row in enumerate(table, 1)]
    part = partial(run, order, ranks, function, append=True)
    whole, saved = part(inputs)
    first, half = part(inputs[:cut])
    second, _ = part(inputs[cut:], pickle.loads(pickle.dumps(half)))
    assert first.emitted + second.emitted == whole.emitted
    shown: Counter[Row] = Counter()
    apply(shown, whole.emitted)
    assert +shown == batch(table, order, ranks, function)
    if saved is not None:
        kept = zip(*map(to_pylist, saved.state.columns[1:-1]), strict=True)
        assert Counter(kept) == batch(table, order, (1, ranks[1], False), function)
