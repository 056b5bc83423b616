"""The scalar functions of Flink SQL, each as Spark SQL that means the same.

{0}, {1} are the arguments, {*} all of them. A function that is not here is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Scalar:
    """Spark SQL for a call with at least and at most so many arguments (most None: any number)."""

    template: str
    least: int
    most: int | None

    def written(self, arguments: list[str]) -> str:
        """The call in Spark SQL."""
        text = self.template.replace("{*}", ", ".join(arguments))
        for at, argument in enumerate(arguments):
            text = text.replace("{" + str(at) + "}", argument)
        return text


def _same(name: str, least: int, most: int | None) -> Scalar:
    return Scalar(f"{name}({{*}})", least, most)


_SAME: Final = {
    "COALESCE": (1, None),
    "NULLIF": (2, 2),
    "GREATEST": (2, None),
    "LEAST": (2, None),
    "ABS": (1, 1),
    "SQRT": (1, 1),
    "EXP": (1, 1),
    "LN": (1, 1),
    "LOG10": (1, 1),
    "LOG2": (1, 1),
    "POWER": (2, 2),
    "SIN": (1, 1),
    "COS": (1, 1),
    "TAN": (1, 1),
    "SIGN": (1, 1),
    "UPPER": (1, 1),
    "LOWER": (1, 1),
    "CONCAT": (1, None),
    "CONCAT_WS": (2, None),
    "REPLACE": (3, 3),
    "REGEXP_REPLACE": (3, 3),
    "REVERSE": (1, 1),
    "REPEAT": (2, 2),
    "LPAD": (3, 3),
    "RPAD": (3, 3),
    "LTRIM": (1, 1),
    "RTRIM": (1, 1),
    "INITCAP": (1, 1),
    "ASCII": (1, 1),
    "MD5": (1, 1),
    "SHA1": (1, 1),
    "DATE_FORMAT": (2, 2),
    "ARRAY": (0, None),
}

SCALARS: Final[dict[str, Scalar]] = {
    **{name: _same(name, least, most) for name, (least, most) in _SAME.items()},
    "IFNULL": Scalar("coalesce({0}, {1})", 2, 2),
    "IF": Scalar("if({0}, {1}, {2})", 3, 3),
    "CHAR_LENGTH": Scalar("char_length({0})", 1, 1),
    "CHARACTER_LENGTH": Scalar("char_length({0})", 1, 1),
    "SUBSTR": Scalar("substr({*})", 2, 3),
    "LEFT": Scalar("left({0}, {1})", 2, 2),
    "RIGHT": Scalar("right({0}, {1})", 2, 2),
    "INSTR": Scalar("instr({0}, {1})", 2, 2),
    "LOCATE": Scalar("locate({0}, {1})", 2, 2),
    "SPLIT_INDEX": Scalar("try_element_at(split({0}, concat('\\\\Q', {1}, '\\\\E')), {2} + 1)", 3, 3),
    "REGEXP": Scalar("({0} rlike {1})", 2, 2),
    "REGEXP_EXTRACT": Scalar("nullif(regexp_extract({*}), '')", 2, 3),
    "ROUND": Scalar("round({*})", 1, 2),
    "TRUNCATE": Scalar("CAST({0} * power(10, {1}) AS BIGINT) / power(10, {1})", 2, 2),
    "YEAR": Scalar("CAST(year({0}) AS BIGINT)", 1, 1),
    "QUARTER": Scalar("CAST(quarter({0}) AS BIGINT)", 1, 1),
    "MONTH": Scalar("CAST(month({0}) AS BIGINT)", 1, 1),
    "WEEK": Scalar("CAST(weekofyear({0}) AS BIGINT)", 1, 1),
    "DAYOFYEAR": Scalar("CAST(dayofyear({0}) AS BIGINT)", 1, 1),
    "DAYOFMONTH": Scalar("CAST(dayofmonth({0}) AS BIGINT)", 1, 1),
    "DAYOFWEEK": Scalar("CAST(dayofweek({0}) AS BIGINT)", 1, 1),
    "HOUR": Scalar("CAST(hour({0}) AS BIGINT)", 1, 1),
    "MINUTE": Scalar("CAST(minute({0}) AS BIGINT)", 1, 1),
    "SECOND": Scalar("CAST(second({0}) AS BIGINT)", 1, 1),
    "TO_TIMESTAMP_LTZ": Scalar("timestamp_millis({0})", 1, 2),
    "TO_TIMESTAMP": Scalar("to_timestamp_ntz({*})", 1, 2),
    "TO_DATE": Scalar("to_date({*})", 1, 2),
    "CARDINALITY": Scalar("CAST(size({0}) AS INT)", 1, 1),
    "IS_DIGIT": Scalar("({0} rlike '^[0-9]+$')", 1, 1),
    "IS_ALPHA": Scalar("({0} rlike '^[A-Za-z]+$')", 1, 1),
}
"""By name. REGEXP_EXTRACT without a match is NULL in Flink and empty in Spark."""

EXTRACTED: Final = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "weekofyear",
    "DOY": "dayofyear",
    "DAY": "dayofmonth",
    "DOW": "dayofweek",
    "HOUR": "hour",
    "MINUTE": "minute",
    "SECOND": "second",
    "EPOCH": "unix_seconds",
}
"""EXTRACT(unit FROM x): the unit, and Spark's function for it."""

TIME_UNITS: Final = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
