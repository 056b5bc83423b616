"""UpdateFast: Flink's output for the best rows of an input whose rows are replaced by better ones."""

from __future__ import annotations

from tests.engine.cases import check_cases
from tests.engine.operators.topn.tables import ranked

WORDS = """
    seq  kind  g  w  c
    1    +I    x  a  1
    2    +I    x  b  1
    3    +U    x  b  2
    4    +I    x  c  1
    5    +U    x  a  2
    6    +U    x  a  3
    7    +U    x  c  2
    8    +U    x  c  3
    9    +U    x  c  4
    10   +U    x  b  3
    11   +I    y  d  1
    12   +U    x  b  4
    13   +U    x  b  5
"""

LEAST = """
    seq  kind  g  w  m
    1    +I    x  a  1
    2    +I    x  b  2
    3    +I    x  c  3
    4    +I    x  d  4
    5    +U    x  d  0
    6    +I    x  e  0
    7    +U    x  c  -5
    8    +U    x  b  -5
    9    +U    x  e  -9
"""

test_cases = check_cases(
    [
        ranked(
            "without rank",
            "c DESC",
            (1, 2),
            WORDS,
            """
            seq  kind  g  w  c
            1    +I    x  a  1
            2    +I    x  b  1
            3    -U    x  b  1
            3    +U    x  b  2
            5    -U    x  a  1
            5    +U    x  a  2
            6    -U    x  a  2
            6    +U    x  a  3
            8    -D    x  b  2
            8    +I    x  c  3
            9    -U    x  c  3
            9    +U    x  c  4
            11   +I    y  d  1
            12   -D    x  a  3
            12   +I    x  b  4
            13   -U    x  b  4
            13   +U    x  b  5
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
        ranked(
            "ranks 2 to 3: a row that rises takes its old rank back first",
            "c DESC",
            (2, 3),
            WORDS,
            """
            seq  kind  g  w  c
            2    +I    x  b  1
            3    -U    x  b  1
            3    +U    x  a  1
            4    +I    x  c  1
            5    -U    x  a  1
            5    +U    x  a  2
            6    -U    x  a  2
            6    +U    x  b  2
            7    -U    x  c  1
            7    +U    x  c  2
            8    -U    x  b  2
            8    -U    x  c  2
            8    +U    x  c  3
            8    +U    x  b  2
            9    -U    x  c  3
            9    +U    x  a  3
            10   -U    x  b  2
            10   +U    x  b  3
            12   -U    x  a  3
            12   -U    x  b  3
            12   +U    x  b  4
            12   +U    x  a  3
            13   -U    x  b  4
            13   +U    x  c  4
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
        ranked(
            "with rank, nobody needs -U",
            "c DESC",
            (1, 2, True),
            WORDS,
            """
            seq  kind  g  w  c  rank
            1    +I    x  a  1  1
            2    +I    x  b  1  2
            3    +U    x  b  2  1
            3    +U    x  a  1  2
            5    +U    x  a  2  2
            6    +U    x  a  3  1
            6    +U    x  b  2  2
            8    +U    x  c  3  2
            9    +U    x  c  4  1
            9    +U    x  a  3  2
            11   +I    y  d  1  1
            12   +U    x  b  4  2
            13   +U    x  b  5  1
            13   +U    x  c  4  2
        """,
            key=("g",),
            update_before=False,
            row_key=("g", "w"),
        ),
        ranked(
            "a row that rises over several ranks reaches its old rank last",
            "m",
            (1, 4, True),
            LEAST,
            """
            seq  kind  g  w  m   rank
            1    +I    x  a  1   1
            2    +I    x  b  2   2
            3    +I    x  c  3   3
            4    +I    x  d  4   4
            5    -U    x  a  1   1
            5    -U    x  d  4   4
            5    +U    x  d  0   1
            5    -U    x  b  2   2
            5    +U    x  a  1   2
            5    -U    x  c  3   3
            5    +U    x  b  2   3
            5    +U    x  c  3   4
            6    -U    x  a  1   2
            6    +U    x  e  0   2
            6    -U    x  b  2   3
            6    +U    x  a  1   3
            6    -U    x  c  3   4
            6    +U    x  b  2   4
            7    -U    x  d  0   1
            7    +U    x  c  -5  1
            7    -U    x  e  0   2
            7    +U    x  d  0   2
            7    -U    x  a  1   3
            7    +U    x  e  0   3
            7    -U    x  b  2   4
            7    +U    x  a  1   4
            8    -U    x  d  0   2
            8    +U    x  b  -5  2
            8    -U    x  e  0   3
            8    +U    x  d  0   3
            8    -U    x  a  1   4
            8    +U    x  e  0   4
            9    -U    x  c  -5  1
            9    -U    x  e  0   4
            9    +U    x  e  -9  1
            9    -U    x  b  -5  2
            9    +U    x  c  -5  2
            9    -U    x  d  0   3
            9    +U    x  b  -5  3
            9    +U    x  d  0   4
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
        ranked(
            "the same in ranks 2 to 2",
            "m",
            (2, 2),
            LEAST,
            """
            seq  kind  g  w  m
            2    +I    x  b  2
            5    -U    x  b  2
            5    +U    x  a  1
            6    -U    x  a  1
            6    +U    x  e  0
            7    -U    x  e  0
            7    +U    x  d  0
            8    -U    x  d  0
            8    +U    x  b  -5
            9    -U    x  b  -5
            9    +U    x  c  -5
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
        ranked(
            "a row that falls, since its aggregate lost its state",
            "c DESC",
            (1, 3, True),
            """
            seq  kind  g  w  c
            1    +I    x  a  5
            2    +I    x  b  4
            3    +I    x  c  3
            4    +I    x  a  1
        """,
            """
            seq  kind  g  w  c  rank
            1    +I    x  a  5  1
            2    +I    x  b  4  2
            3    +I    x  c  3  3
            4    -U    x  a  5  1
            4    -U    x  b  4  2
            4    +U    x  b  4  1
            4    -U    x  c  3  3
            4    +U    x  c  3  2
            4    +U    x  a  1  3
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
        ranked(
            "the rest of a row may change under the same sort key",
            "c DESC",
            (1, 2, True),
            """
            seq  kind  g  w  c  note
            1    +I    x  a  5  old
            2    +U    x  a  5  new
        """,
            """
            seq  kind  g  w  c  note  rank
            1    +I    x  a  5  old   1
            2    -U    x  a  5  old   1
            2    +U    x  a  5  new   1
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
        ranked(
            "a group that is empty between -U and +U stays where it is; a -D of an unknown key is a row, as in Flink",
            "c DESC",
            (1, 2, True),
            """
            seq  kind  g  w  c
            1    +I    x  a  5
            2    +I    x  b  4
            3    -D    x  a  5
            3    +I    x  a  6
            4    -D    x  q  9
        """,
            """
            seq  kind  g  w  c  rank
            1    +I    x  a  5  1
            2    +I    x  b  4  2
            3    -U    x  a  5  1
            3    +U    x  a  5  1
            3    -U    x  a  5  1
            3    +U    x  a  6  1
            4    -U    x  a  6  1
            4    +U    x  q  9  1
            4    -U    x  b  4  2
            4    +U    x  a  6  2
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
        ranked(
            "Top 1 of a group that is empty between -U and +U",
            "c DESC",
            (1, 1),
            """
            seq  kind  g  w  c
            1    +I    x  a  5
            2    -D    x  a  5
            2    +I    x  a  6
        """,
            """
            seq  kind  g  w  c
            1    +I    x  a  5
            2    -U    x  a  5
            2    +U    x  a  6
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
        ranked(
            "Top 1: the best row changes hands; its own updates count where they are better, as in Flink",
            "c DESC",
            (1, 1, True),
            """
            seq  kind  g  w  c  note
            1    +I    x  a  1  .
            2    +I    x  b  1  .
            3    +U    x  b  2  .
            4    +U    x  b  2  seen
            5    +U    x  a  2  .
        """,
            """
            seq  kind  g  w  c  note  rank
            1    +I    x  a  1  .     1
            3    -U    x  a  1  .     1
            3    +U    x  b  2  .     1
        """,
            key=("g",),
            row_key=("g", "w"),
        ),
    ]
)
