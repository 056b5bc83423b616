"""The rows of one sink key, as in Flink's SinkUpsertMaterializer."""

from __future__ import annotations

from engine.deduplication.upsert_materialize import UpsertMaterializeKernel
from tests.engine.cases import Case, check_cases


def whole_rows() -> UpsertMaterializeKernel:
    return UpsertMaterializeKernel(())


def by_first_column() -> UpsertMaterializeKernel:
    return UpsertMaterializeKernel((0,))


CASES = [
    Case(
        "the last row that is there stands, and the one before it comes back when it goes",
        kernel=whole_rows,
        given="""
            seq  kind  id  k
            1    +I    1   a
            2    +I    2   a
            3    -D    2   a
            4    -D    1   a
        """,
        expect="""
            seq  kind  id  k
            1    +I    1   a
            2    +U    2   a
            3    +U    1   a
            4    -D    1   a
        """,
    ),
    Case(
        "taking out a row that is not the last is silent",
        kernel=whole_rows,
        given="""
            seq  kind  id  k
            1    +I    1   a
            2    +I    2   a
            3    -U    1   a
            4    -D    2   a
        """,
        expect="""
            seq  kind  id  k
            1    +I    1   a
            2    +U    2   a
            4    -D    2   a
        """,
    ),
    Case(
        "an update delivered the wrong way round loses nothing",
        kernel=whole_rows,
        given="""
            seq  kind  id  k
            1    +I    1   a
            2    +U    1   b
            3    -U    1   a
            4    -D    9   z
        """,
        expect="""
            seq  kind  id  k
            1    +I    1   a
            2    +U    1   b
        """,
    ),
    Case(
        "equal rows are counted one by one",
        kernel=whole_rows,
        given="""
            seq  kind  id  k
            1    +I    1   a
            2    +I    1   a
            3    -D    1   a
            4    -D    1   a
        """,
        expect="""
            seq  kind  id  k
            1    +I    1   a
            2    +U    1   a
            4    -D    1   a
        """,
    ),
    Case(
        "with an upsert key rows match by the key alone and keep their place",
        kernel=by_first_column,
        given="""
            seq  kind  id  n
            1    +I    1   10
            2    +I    2   20
            3    +U    1   11
            4    -D    2   NULL
            5    -U    1   NULL
        """,
        expect="""
            seq  kind  id  n
            1    +I    1   10
            2    +U    2   20
            3    +U    1   11
            4    +U    1   11
            5    -D    1   NULL
        """,
    ),
]

test_the_materialising_stage = check_cases(CASES)
