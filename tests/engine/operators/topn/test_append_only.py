"""AppendFast: Flink's output for the best rows of an insert-only input."""

from __future__ import annotations

from tests.engine.cases import check_cases
from tests.engine.operators.topn.tables import ranked

BOOKS = """
    seq  kind  cat    id  v
    1    +I    book   1   12
    2    +I    book   2   19
    3    +I    book   4   11
    4    +I    book   5   11
    5    +I    fruit  4   33
    6    +I    fruit  3   44
    7    +I    fruit  5   22
    8    +I    book   6   12
    9    +I    book   7   30
    10   +I    book   8   1
"""
NULLS = """
    seq  kind  cat  id  v
    1    +I    a    1   NULL
    2    +I    a    2   5
    3    +I    a    3   NULL
    4    +I    a    4   1
"""
FOUR = """
    seq  kind  cat  id  v
    1    +I    a    1   5
    2    +I    b    2   9
    3    +I    c    3   7
    4    +I    d    4   8
"""
TWO_KEYS = """
    seq  kind  cat  id  v
    1    +I    a    1   5
    2    +I    b    2   5
    3    +I    c    3   7
    4    +I    d    4   5
"""
RANK_ENDS = """
    seq  kind  cat    id  v
    1    +I    book   2   12
    2    +I    book   2   19
    3    +I    book   2   11
    4    +I    fruit  1   33
    5    +I    fruit  1   44
    6    +I    fruit  1   22
"""

test_cases = check_cases(
    [
        ranked(
            "with rank: every rank that shifts is an update",
            "v",
            (1, 2, True),
            BOOKS,
            """
            seq  kind  cat    id  v   rank
            1    +I    book   1   12  1
            2    +I    book   2   19  2
            3    -U    book   1   12  1
            3    +U    book   4   11  1
            3    -U    book   2   19  2
            3    +U    book   1   12  2
            4    -U    book   1   12  2
            4    +U    book   5   11  2
            5    +I    fruit  4   33  1
            6    +I    fruit  3   44  2
            7    -U    fruit  4   33  1
            7    +U    fruit  5   22  1
            7    -U    fruit  3   44  2
            7    +U    fruit  4   33  2
            10   -U    book   4   11  1
            10   +U    book   8   1   1
            10   -U    book   5   11  2
            10   +U    book   4   11  2
        """,
            append=True,
        ),
        ranked(
            "with rank, nobody needs -U",
            "v",
            (1, 2, True),
            BOOKS,
            """
            seq  kind  cat    id  v   rank
            1    +I    book   1   12  1
            2    +I    book   2   19  2
            3    +U    book   4   11  1
            3    +U    book   1   12  2
            4    +U    book   5   11  2
            5    +I    fruit  4   33  1
            6    +I    fruit  3   44  2
            7    +U    fruit  5   22  1
            7    +U    fruit  4   33  2
            10   +U    book   8   1   1
            10   +U    book   4   11  2
        """,
            update_before=False,
            append=True,
        ),
        ranked(
            "without rank: the row that falls out goes before the one that comes in",
            "v",
            (1, 2),
            BOOKS,
            """
            seq  kind  cat    id  v
            1    +I    book   1   12
            2    +I    book   2   19
            3    -D    book   2   19
            3    +I    book   4   11
            4    -D    book   1   12
            4    +I    book   5   11
            5    +I    fruit  4   33
            6    +I    fruit  3   44
            7    -D    fruit  3   44
            7    +I    fruit  5   22
            10   -D    book   5   11
            10   +I    book   8   1
        """,
            append=True,
        ),
        ranked(
            "ranks 2 to 3",
            "v",
            (2, 3, True),
            BOOKS,
            """
            seq  kind  cat    id  v   rank
            2    +I    book   2   19  2
            3    -U    book   2   19  2
            3    +U    book   1   12  2
            3    +I    book   2   19  3
            4    -U    book   1   12  2
            4    +U    book   5   11  2
            4    -U    book   2   19  3
            4    +U    book   1   12  3
            6    +I    fruit  3   44  2
            7    -U    fruit  3   44  2
            7    +U    fruit  4   33  2
            7    +I    fruit  3   44  3
            10   -U    book   5   11  2
            10   +U    book   4   11  2
            10   -U    book   1   12  3
            10   +U    book   5   11  3
        """,
            append=True,
        ),
        ranked(
            "descending",
            "v DESC",
            (1, 3, True),
            BOOKS,
            """
            seq  kind  cat    id  v   rank
            1    +I    book   1   12  1
            2    -U    book   1   12  1
            2    +U    book   2   19  1
            2    +I    book   1   12  2
            3    +I    book   4   11  3
            5    +I    fruit  4   33  1
            6    -U    fruit  4   33  1
            6    +U    fruit  3   44  1
            6    +I    fruit  4   33  2
            7    +I    fruit  5   22  3
            8    -U    book   4   11  3
            8    +U    book   6   12  3
            9    -U    book   2   19  1
            9    +U    book   7   30  1
            9    -U    book   1   12  2
            9    +U    book   2   19  2
            9    -U    book   6   12  3
            9    +U    book   1   12  3
        """,
            append=True,
        ),
        ranked(
            "NULL is lowest, so last when descending",
            "v DESC",
            (1, 2, True),
            NULLS,
            """
            seq  kind  cat  id  v     rank
            1    +I    a    1   NULL  1
            2    -U    a    1   NULL  1
            2    +U    a    2   5     1
            2    +I    a    1   NULL  2
            4    -U    a    1   NULL  2
            4    +U    a    4   1     2
        """,
            append=True,
        ),
        ranked(
            "ORDER BY with LIMIT and OFFSET is an offset without partition",
            "v DESC",
            (2, 3),
            FOUR,
            """
            seq  kind  cat  id  v
            2    +I    a    1   5
            3    -U    a    1   5
            3    +U    c    3   7
            3    +I    a    1   5
            4    -U    c    3   7
            4    +U    d    4   8
            4    -U    a    1   5
            4    +U    c    3   7
        """,
            key=(),
            append=True,
        ),
        ranked(
            "two sort keys, no partition",
            "v DESC, id",
            (1, 2, True),
            TWO_KEYS,
            """
            seq  kind  cat  id  v  rank
            1    +I    a    1   5  1
            2    +I    b    2   5  2
            3    -U    a    1   5  1
            3    +U    c    3   7  1
            3    -U    b    2   5  2
            3    +U    a    1   5  2
        """,
            key=(),
            append=True,
        ),
        ranked(
            "the rank end comes from a column",
            "v",
            (1, "id", True),
            RANK_ENDS,
            """
            seq  kind  cat    id  v   rank
            1    +I    book   2   12  1
            2    +I    book   2   19  2
            3    -U    book   2   12  1
            3    +U    book   2   11  1
            3    -U    book   2   19  2
            3    +U    book   2   12  2
            4    +I    fruit  1   33  1
            6    -U    fruit  1   33  1
            6    +U    fruit  1   22  1
        """,
            append=True,
        ),
        ranked(
            "NULLS FIRST although descending",
            "v DESC NULLS FIRST",
            (1, 2),
            NULLS,
            """
            seq  kind  cat  id  v
            1    +I    a    1   NULL
            2    +I    a    2   5
            3    -D    a    2   5
            3    +I    a    3   NULL
        """,
            append=True,
        ),
        ranked(
            "the rank end comes from a column, without rank",
            "v",
            (1, "id"),
            RANK_ENDS,
            """
            seq  kind  cat    id  v
            1    +I    book   2   12
            2    +I    book   2   19
            3    -D    book   2   19
            3    +I    book   2   11
            4    +I    fruit  1   33
            6    -D    fruit  1   33
            6    +I    fruit  1   22
        """,
            append=True,
        ),
        ranked(
            "Top 1 is an update of the partition",
            "v",
            (1, 1),
            BOOKS,
            """
            seq  kind  cat    id  v
            1    +I    book   1   12
            3    -U    book   1   12
            3    +U    book   4   11
            5    +I    fruit  4   33
            7    -U    fruit  4   33
            7    +U    fruit  5   22
            10   -U    book   4   11
            10   +U    book   8   1
        """,
            append=True,
        ),
        ranked(
            "Top 1 with rank, nobody needs -U",
            "v DESC",
            (1, 1, True),
            BOOKS,
            """
            seq  kind  cat    id  v   rank
            1    +I    book   1   12  1
            2    +U    book   2   19  1
            5    +I    fruit  4   33  1
            6    +U    fruit  3   44  1
            9    +U    book   7   30  1
        """,
            append=True,
            update_before=False,
        ),
        ranked(
            "text and dates in descending order",
            "name DESC, id",
            (1, 2, True),
            """
            seq  kind  id  name
            1    +I    1   pear
            2    +I    2   apple
            3    +I    3   pear
            4    +I    4   quince
        """,
            """
            seq  kind  id  name    rank
            1    +I    1   pear    1
            2    +I    2   apple   2
            3    -U    2   apple   2
            3    +U    3   pear    2
            4    -U    1   pear    1
            4    +U    4   quince  1
            4    -U    3   pear    2
            4    +U    1   pear    2
        """,
            key=(),
            append=True,
        ),
        ranked(
            "NaN is above all numbers",
            "f DESC",
            (1, 1),
            """
            seq  kind  f
            1    +I    1.5
            2    +I    nan
            3    +I    inf
        """,
            """
            seq  kind  f
            1    +I    1.5
            2    -U    1.5
            2    +U    nan
        """,
            key=(),
            append=True,
        ),
    ]
)
