"""What a user's expressions do wrong while Spark computes them, in Flink's words and without Spark's settings.

Spark marks its messages with the name of a condition (`[DIVIDE_BY_ZERO] ...`), whose texts are in its
`error-conditions.json`. Errors of Java's that it does not catch have a class instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_TRY: Final = "Use TRY_CAST, which gives NULL then, or filter such records before."
_ZERO: Final = "Divide by NULLIF(x, 0), which gives NULL then, or filter such records before."
_TELLINGS: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "DIVIDE_BY_ZERO": (("", f"a number is divided by zero. {_ZERO}"),),
    "REMAINDER_BY_ZERO": (("", f"a number is divided by zero, for its remainder. {_ZERO}"),),
    "CAST_INVALID_INPUT": ((r'The value (.+) of the type ".+?" cannot be cast to "(.+?)"', rf"\1 is no \2. {_TRY}"),),
    "CAST_OVERFLOW": (
        (r'The value (.+) of the type ".+?" cannot be cast to "(.+?)"', rf"\1 is too large for \2. {_TRY}"),
    ),
    "NUMERIC_VALUE_OUT_OF_RANGE": (
        (
            r"rounded half up from (\S+) cannot be represented as Decimal(.*\))",
            rf"\1 is too large for DECIMAL\2. {_TRY}",
        ),
        (r"(\S+) cannot be represented as Decimal(.*\))", rf"\1 is too large for DECIMAL\2. {_TRY}"),
    ),
    "ARITHMETIC_OVERFLOW": (
        ("", "a number becomes larger than its type can hold. Cast to a larger type before, such as DECIMAL(38, 0)."),
    ),
    "INVALID_ARRAY_INDEX": (
        (
            r"The index (-?\d+) is out of bounds\. The array has (\d+) elements",
            r"an ARRAY of \2 elements has none at \1. Compare with CARDINALITY before.",
        ),
    ),
    "INVALID_INDEX_OF_ZERO": (("", "an ARRAY has no element at 0. Places count from 1."),),
    "INVALID_VARIANT_GET_PATH": (
        (r"The path `(.*)` is not", r"'\1' is no path of a JSON text. Write one such as '$.a.b' or '$.a[0].b'."),
    ),
    "CANNOT_PARSE_TIMESTAMP": (
        (
            r"Text ('.*') could not be parsed",
            r"\1 does not have the form that the pattern says. Change the pattern, or filter such records before.",
        ),
    ),
    "INVALID_DATETIME_PATTERN": (
        (r"pattern: (.+?)\.", r"\1 in the pattern of a time is not known. Use letters such as yyyy-MM-dd HH:mm:ss."),
        (r"", r"the pattern of a time is not known. Use letters such as yyyy-MM-dd HH:mm:ss."),
    ),
    "INVALID_PARAMETER_VALUE": (
        (r"`regexp` in `(\w+)` is invalid: (.+?)\.?$", r"\2 in \1 is no regular expression. Close its brackets."),
        (
            r"parameter\(s\) `(\w+)` in `(\w+)` is invalid: (.+?)\.?$",
            r"\2 cannot take this \1: \3.",
        ),
    ),
    "DUPLICATED_MAP_KEY": (
        (r"Duplicate map key (.+) was found", r"a MAP has the key \1 twice. Leave one of them out."),
    ),
    "NULL_MAP_KEY": (("", "a MAP has NULL as a key. Filter such records before, or use COALESCE."),),
}
_ALIKE: Final = {
    "BINARY_ARITHMETIC_OVERFLOW": "ARITHMETIC_OVERFLOW",
    "INTERVAL_ARITHMETIC_OVERFLOW": "ARITHMETIC_OVERFLOW",
    "INTERVAL_DIVIDED_BY_ZERO": "DIVIDE_BY_ZERO",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "INVALID_ARRAY_INDEX",
    "INCONSISTENT_BEHAVIOR_CROSS_VERSION": "INVALID_DATETIME_PATTERN",
}
_CONDITION: Final = re.compile(r"\[([A-Z][A-Z0-9_]+)(?:\.[A-Z0-9_]+)*\]\s*(.*)", re.DOTALL)
_JAVA: Final = re.compile(r"\b(?:[a-z]+\.)+(\w+)(?:Exception|Error): (.+?)(?=\s+(?:\n|at )[\w.$/]*|\n|$)")
_NUMBER: Final = re.compile(r"(?<=\d)(?:BD|[DLSYF])\b")
_SENTENCE: Final = re.compile(r"(?<=[.:]) (?=[A-Z])")
_SETTINGS: Final = re.compile(r"spark\.|`try_|SQL function `|\bset \"|legacy")
_TYPE: Final = re.compile(r"(?<=\bis no )(TIMESTAMP_NTZ|TIMESTAMP)\b")
_TYPES: Final = {"TIMESTAMP_NTZ": "TIMESTAMP", "TIMESTAMP": "TIMESTAMP_LTZ"}


def plain(text: str) -> str:
    """A message without its error class, query context, SQLSTATE and logical plan."""
    text = re.sub(r"^\s*\[[A-Z0-9_.]+\]\s*", "", text)
    text = re.split(r"\s*SQLSTATE: |\n== SQL|;\s*line \d+ pos|\n\nJVM stacktrace|;\n'", text)[0]
    return " ".join(text.split())


def explained(text: str) -> str | None:
    """What an expression did wrong, as a sentence; None if the text does not tell of an expression."""
    if (marked := _CONDITION.search(text)) is not None:
        said = plain(marked[2])
        for sign, telling in _TELLINGS.get(_ALIKE.get(marked[1], marked[1]), ()):
            if (match := re.search(sign, said, re.IGNORECASE)) is not None:
                return _in_flinks_words(match.expand(telling))
        return " ".join(sentence for sentence in _SENTENCE.split(said) if not _SETTINGS.search(sentence)) or said
    if (raised := _JAVA.search(text)) is not None:
        name, said = raised[1], plain(raised[2])
        what = "a regular expression cannot be read" if name == "PatternSyntax" else "an expression cannot be computed"
        return f"{what}: {said}."
    return None


def _in_flinks_words(sentence: str) -> str:
    return _NUMBER.sub("", _TYPE.sub(lambda found: _TYPES[found[0]], sentence))
