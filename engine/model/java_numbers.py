"""Numbers as Java writes them, and so Flink and Spark."""

from __future__ import annotations

from decimal import Decimal


def real_text(text: str) -> str:
    """A FLOAT or DOUBLE, given as Python writes it: a point always, and powers of ten below 0.001 and from ten million
    on.
    """
    number = Decimal(text)
    if not number.is_finite():
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[text]
    power = number.adjusted() if number else 0
    if -3 <= power < 7:
        plain = f"{number:f}"
        return plain if "." in plain else f"{plain}.0"
    first, _, rest = f"{number.normalize():e}".partition("e")
    return f"{first if '.' in first else f'{first}.0'}E{int(rest)}"
