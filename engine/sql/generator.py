"""Trees of `engine.sql.dialect` as Flink SQL that is read as the same trees, and as people write it."""

from __future__ import annotations

from typing import ClassVar, Final

from sqlglot import exp, generator

from engine.sql.functions.digits import is_literal_moment
from engine.sql.functions.interval_values import DIFFERENCE
from engine.sql.identifiers import identifier

# Between what is tested and the test.
_TESTS: Final = (exp.Is, exp.Like, exp.In, exp.Between, exp.SimilarTo)
_PAIRS: Final = ("JSON_OBJECT", "JSON_OBJECTAGG")
_ON: Final = {"on_empty": "ON EMPTY", "on_error": "ON ERROR", "on_null": "ON NULL"}
_COLLECTIONS: Final = {"[]": "EMPTY ARRAY", "{}": "EMPTY OBJECT"}


class Generator(generator.Generator):
    """Names without unnecessary backticks; what sqlglot has other names for, in Flink's."""

    TYPE_MAPPING: ClassVar = {
        **generator.Generator.TYPE_MAPPING,
        exp.DType.TEXT: "STRING",
        exp.DType.TIMESTAMPLTZ: "TIMESTAMP_LTZ",
        exp.DType.STRUCT: "ROW",
    }
    SUPPORTS_BETWEEN_FLAGS = True

    def identifier_sql(self, expression: exp.Identifier) -> str:
        """A name, in backticks if needed."""
        return identifier(expression.name)

    def array_sql(self, expression: exp.Array) -> str:
        """ARRAY[1, 2]."""
        return f"ARRAY[{self.expressions(expression, flat=True)}]"

    def not_sql(self, expression: exp.Not) -> str:
        """A IS NOT NULL, a NOT IN (1, 2)."""
        test = expression.this
        if not isinstance(test, _TESTS):
            return super().not_sql(expression)
        value = self.sql(test, "this")
        rest = self.sql(test).removeprefix(value).lstrip()
        word, _, others = rest.partition(" ")
        return f"{value} IS NOT {others}" if word == "IS" else f"{value} NOT {rest}"

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        """TIMESTAMP '2024-01-01 10:00:00', whose digits are those that are written."""
        kind = expression.to
        is_moment = kind.this in (exp.DType.TIMESTAMP, exp.DType.DATE, exp.DType.TIME) and not kind.expressions
        if is_moment and is_literal_moment(expression) and not isinstance(expression, exp.TryCast):
            return f"{kind.this.value} {self.sql(expression, 'this')}"
        return super().cast_sql(expression, safe_prefix)

    def if_sql(self, expression: exp.If) -> str:
        """IF(a, b, c)."""
        return self.func("IF", *(expression.args.get(part) for part in ("this", "true", "false")))

    def strposition_sql(self, expression: exp.StrPosition) -> str:
        """POSITION(a IN b)."""
        return f"POSITION({self.sql(expression, 'substr')} IN {self.sql(expression, 'this')})"

    def trim_sql(self, expression: exp.Trim) -> str:
        """TRIM(LEADING 'x' FROM a)."""
        what = [word for name in ("position", "expression") if (word := self.sql(expression, name))]
        return f"TRIM({' '.join([*what, 'FROM'] if what else what)}{' ' * bool(what)}{self.sql(expression, 'this')})"

    def anonymous_sql(self, expression: exp.Anonymous) -> str:
        """A call, JSON functions with their clauses, and (a - b) DAY."""
        name = expression.name.upper()
        if name == DIFFERENCE:
            later, earlier, unit = expression.expressions
            return f"({self.sql(later)} - {self.sql(earlier)}) {unit.name}"
        if name == "MAP":
            return f"{self.sql(expression, 'this')}[{self.expressions(expression, flat=True)}]"
        clauses = [clause for clause in expression.expressions if isinstance(clause, exp.Kwarg)]
        if not name.startswith("JSON_") or not (clauses or name in _PAIRS):
            return super().anonymous_sql(expression)
        values = [self.sql(argument) for argument in expression.expressions if not isinstance(argument, exp.Kwarg)]
        if name in _PAIRS:
            values = [f"{key} VALUE {value}" for key, value in zip(values[::2], values[1::2], strict=False)]
        return f"{self.sql(expression, 'this')}({' '.join([', '.join(values), *map(self._clause, clauses)]).strip()})"

    def _clause(self, clause: exp.Kwarg) -> str:
        """A clause of a JSON function (`engine.functions.json_syntax`)."""
        name, value = clause.name, clause.expression
        match name:
            case "returning":
                return f"RETURNING {self.sql(value)}"
            case "wrapper":
                return f"WITH {value.name} ARRAY WRAPPER"
        if isinstance(value, exp.Null | exp.Var):
            return f"{self.sql(value)} {_ON[name]}"
        is_collection = isinstance(value, exp.Literal) and value.is_string and value.name in _COLLECTIONS
        is_query = isinstance(clause.parent, exp.Anonymous) and clause.parent.name.upper() == "JSON_QUERY"
        if is_collection and is_query:
            return f"{_COLLECTIONS[value.name]} {_ON[name]}"
        return f"DEFAULT {self.sql(value)} {_ON[name]}"
