"""Retract: Flink's output for the best rows of an input that may retract any row."""

from __future__ import annotations

from tests.engine.cases import check_cases
from tests.engine.operators.topn.tables import ranked

CHANGES = """
    seq  kind  cat  id  v
    1    +I    a    1   10
    2    +I    a    2   20
    3    +I    a    3   30
    4    +I    a    4   15
    5    -U    a    2   20
    6    +U    a    2   40
    7    -D    a    1   10
    8    -D    a    3   30
    9    +I    a    5   15
    10   -D    a    4   15
    11   -D    a    2   40
    12   -D    a    5   15
    13   +I    a    6   1
"""
EQUAL_ROWS = """
    seq  kind  cat  id  v
    1    +I    a    1   5
    2    +I    a    1   5
    3    +I    a    1   5
    4    -D    a    1   5
    5    +I    a    2   6
    6    -D    a    1   5
    7    -D    a    1   5
"""

# The Top 3 of the document: sales per product, updated, deleted.
SALES = """
    seq  kind  cat   product  sales
    1    +I    food  bread    30
    2    +I    food  milk     50
    3    +I    food  eggs     40
    4    +I    food  salt     10
    5    +I    food  rice     45
    6    -D    food  milk     50
    7    -U    food  salt     10
    7    +U    food  salt     60
"""

test_cases = check_cases(
    [
        ranked(
            "without rank: -D and +I",
            "v DESC",
            (1, 2),
            CHANGES,
            """
            seq  kind  cat  id  v
            1    +I    a    1   10
            2    +I    a    2   20
            3    -D    a    1   10
            3    +I    a    3   30
            5    -D    a    2   20
            5    +I    a    4   15
            6    -D    a    4   15
            6    +I    a    2   40
            8    -D    a    3   30
            8    +I    a    4   15
            10   -D    a    4   15
            10   +I    a    5   15
            11   -D    a    2   40
            12   -D    a    5   15
            13   +I    a    6   1
        """,
        ),
        ranked(
            "equal rows are counted one by one, their shifts are no-op pairs",
            "v",
            (1, 2, True),
            EQUAL_ROWS,
            """
            seq  kind  cat  id  v  rank
            1    +I    a    1   5  1
            2    +I    a    1   5  2
            4    -U    a    1   5  1
            4    +U    a    1   5  1
            4    -U    a    1   5  2
            4    +U    a    1   5  2
            6    -U    a    1   5  1
            6    +U    a    1   5  1
            6    -U    a    1   5  2
            6    +U    a    2   6  2
            7    -U    a    1   5  1
            7    +U    a    2   6  1
            7    -D    a    2   6  2
        """,
        ),
        # Flink 2.3 misses the deletion at 10: it stores rows with the kind of their last emission.
        ranked(
            "ranks 2 to 3 without rank",
            "v DESC",
            (2, 3),
            CHANGES,
            """
            seq  kind  cat  id  v
            2    +I    a    1   10
            3    -U    a    1   10
            3    +U    a    2   20
            3    +I    a    1   10
            4    -U    a    1   10
            4    +U    a    4   15
            5    -U    a    2   20
            5    +U    a    4   15
            5    -U    a    4   15
            5    +U    a    1   10
            6    -U    a    4   15
            6    +U    a    3   30
            6    -U    a    1   10
            6    +U    a    4   15
            8    -U    a    3   30
            8    +U    a    4   15
            8    -D    a    4   15
            9    +I    a    5   15
            10   -U    a    4   15
            10   +U    a    5   15
            10   -D    a    5   15
            11   -D    a    5   15
        """,
        ),
        ranked(
            "ranks 2 to 3 with rank",
            "v DESC",
            (2, 3, True),
            CHANGES,
            """
            seq  kind  cat  id  v   rank
            2    +I    a    1   10  2
            3    -U    a    1   10  2
            3    +U    a    2   20  2
            3    +I    a    1   10  3
            4    -U    a    1   10  3
            4    +U    a    4   15  3
            5    -U    a    2   20  2
            5    +U    a    4   15  2
            5    -U    a    4   15  3
            5    +U    a    1   10  3
            6    -U    a    4   15  2
            6    +U    a    3   30  2
            6    -U    a    1   10  3
            6    +U    a    4   15  3
            8    -U    a    3   30  2
            8    +U    a    4   15  2
            8    -D    a    4   15  3
            9    +I    a    5   15  3
            10   -U    a    4   15  2
            10   +U    a    5   15  2
            10   -D    a    5   15  3
            11   -D    a    5   15  2
        """,
        ),
        ranked(
            "with rank, nobody needs -U",
            "v DESC",
            (1, 3, True),
            CHANGES,
            """
            seq  kind  cat  id  v   rank
            1    +I    a    1   10  1
            2    +U    a    2   20  1
            2    +I    a    1   10  2
            3    +U    a    3   30  1
            3    +U    a    2   20  2
            3    +I    a    1   10  3
            4    +U    a    4   15  3
            5    +U    a    4   15  2
            5    +U    a    1   10  3
            6    +U    a    2   40  1
            6    +U    a    3   30  2
            6    +U    a    4   15  3
            8    +U    a    4   15  2
            8    -D    a    4   15  3
            9    +I    a    5   15  3
            10   +U    a    5   15  2
            10   -D    a    5   15  3
            11   +U    a    5   15  1
            11   -D    a    5   15  2
            12   -D    a    5   15  1
            13   +I    a    6   1   1
        """,
            update_before=False,
        ),
        ranked(
            "the document: an insert shifts ranks, a delete pulls one up",
            "sales DESC",
            (1, 3, True),
            SALES,
            """
            seq  kind  cat   product  sales  rank
            1    +I    food  bread    30     1
            2    -U    food  bread    30     1
            2    +U    food  milk     50     1
            2    +I    food  bread    30     2
            3    -U    food  bread    30     2
            3    +U    food  eggs     40     2
            3    +I    food  bread    30     3
            5    -U    food  eggs     40     2
            5    +U    food  rice     45     2
            5    -U    food  bread    30     3
            5    +U    food  eggs     40     3
            6    -U    food  milk     50     1
            6    +U    food  rice     45     1
            6    -U    food  rice     45     2
            6    +U    food  eggs     40     2
            6    -U    food  eggs     40     3
            6    +U    food  bread    30     3
            7    -U    food  rice     45     1
            7    +U    food  salt     60     1
            7    -U    food  eggs     40     2
            7    +U    food  rice     45     2
            7    -U    food  bread    30     3
            7    +U    food  eggs     40     3
        """,
            leaves_state=True,
        ),
        ranked(
            "Top 1 comes and goes, even with its rank",
            "v",
            (1, 1, True),
            """
            seq  kind  cat  id  v
            1    +I    a    1   5
            2    +I    a    2   5
            3    +I    a    3   3
            4    -D    a    3   3
            5    -U    a    1   5
            5    +U    a    1   7
            6    -D    a    1   7
            7    -D    a    2   5
        """,
            """
            seq  kind  cat  id  v  rank
            1    +I    a    1   5  1
            3    -D    a    1   5  1
            3    +I    a    3   3  1
            4    -D    a    3   3  1
            4    +I    a    1   5  1
            5    -D    a    1   5  1
            5    +I    a    2   5  1
            7    -D    a    2   5  1
        """,
            leaves_state=False,
        ),
        ranked(
            "a retraction of an unknown row is ignored",
            "v",
            (1, 2, True),
            """
            seq  kind  cat  id  v
            1    -D    a    1   5
            2    +I    a    1   5
            3    -U    a    1   6
        """,
            """
            seq  kind  cat  id  v  rank
            2    +I    a    1   5  1
        """,
        ),
        ranked(
            "rows with lists are taken back by content",
            "f",
            (1, 2),
            """
            seq  kind  cat  f    list
            1    +I    a    2.5  [1,2]
            2    +I    a    2.5  []
            3    -D    a    2.5  [1,2]
        """,
            """
            seq  kind  cat  f    list
            1    +I    a    2.5  [1,2]
            2    +I    a    2.5  []
            3    -D    a    2.5  [1,2]
        """,
        ),
    ]
)
