"""How a sentence about an unknown name lists the known ones."""

from __future__ import annotations

import pytest

from engine.errors import unknown_name

COLUMNS = [f"column_{at}" for at in range(40)]
CASES = [
    ("all of a few", "q", ["k", "v"], "unknown column 'q'. Available: k, v"),
    ("a slip", "amout", ["user", "amount"], "unknown column 'amout'. Did you mean amount? Available: user, amount"),
    ("another case", "TS", ["k", "ts"], "unknown column 'TS'. Did you mean ts? Available: k, ts"),
    ("none", "q", [], "unknown column 'q'. Available: none"),
    ("three of many", "colum_39", COLUMNS, "unknown column 'colum_39'. The most similar of 40: column_39, "),
    ("in any case of letters", "ORDER_ID", [*COLUMNS, "order_id"], "The most similar of 41: order_id, "),
]


@pytest.mark.parametrize(("name", "known", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_unknown_name_lists_all_of_a_few_and_the_most_similar_of_many(
    name: str, known: list[str], said: str
) -> None:
    sentence = unknown_name("column", name, known)
    assert said in sentence
    assert len(sentence) < 120
