"""The grammar of MATCH_RECOGNIZE after a table: its clauses become named arguments of a call."""

from __future__ import annotations

from typing import Any, Final

from sqlglot import TokenType, exp

NAME: Final = "MATCH_RECOGNIZE"


def parse(parser: Any, table: exp.Expr) -> exp.Expr:
    """Parse the clauses after the word into a table: a call with the input table and the clauses by name."""
    word = parser._prev
    parser._match_l_paren()
    clauses: dict[str, exp.Expr] = {}
    if parser._match(TokenType.PARTITION_BY):
        clauses["PARTITION"] = exp.Tuple(expressions=parser._parse_csv(parser._parse_disjunction))
    if (order := parser._parse_order()) is not None:
        clauses["ORDER"] = order
    if parser._match_text_seq("MEASURES"):
        clauses["MEASURES"] = exp.Tuple(expressions=parser._parse_csv(lambda: _measure(parser)))
    for rows in (("ONE", "ROW", "PER", "MATCH"), ("ALL", "ROWS", "PER", "MATCH")):
        if parser._match_text_seq(*rows):
            clauses["ROWS"] = exp.var(rows[0])
            while parser._curr and parser._curr.text.upper() not in ("AFTER", "PATTERN"):
                parser._advance()
    if parser._match_text_seq("AFTER", "MATCH", "SKIP"):
        start = parser._curr
        while parser._curr and parser._curr.text.upper() != "PATTERN":
            parser._advance()
        clauses["AFTER"] = exp.Literal.string(parser._find_sql(start, parser._prev)).update_positions(start)
    if parser._match_text_seq("PATTERN"):
        clauses["PATTERN"] = _pattern(parser)
    if parser._match_text_seq("WITHIN"):
        clauses["WITHIN"] = parser._parse_interval()
    if parser._match_text_seq("SUBSET"):
        parser.raise_error("SUBSET is not supported. Name the variables one by one")
    if parser._match_text_seq("DEFINE"):
        clauses["DEFINE"] = exp.Tuple(expressions=parser._parse_csv(lambda: _definition(parser)))
    parser._match_r_paren()
    given = [exp.Kwarg(this=exp.var(name), expression=clause) for name, clause in clauses.items()]
    call = exp.Anonymous(this=NAME, expressions=[table, *given]).update_positions(word)
    return exp.Table(this=call, alias=parser._parse_table_alias())


def _measure(parser: Any) -> exp.Expr | None:
    if parser._match_text_seq("RUNNING"):
        parser.raise_error("RUNNING is not supported, as in Flink. Leave it out")
    parser._match_text_seq("FINAL")
    measure: exp.Expr | None = parser._parse_expression()
    return measure


def _definition(parser: Any) -> exp.Expr:
    name = parser._parse_id_var()
    if name is None or not parser._match(TokenType.ALIAS):
        parser.raise_error("DEFINE names a variable and its condition: A AS A.v > 1")
    condition = parser._parse_disjunction()
    if condition is None:
        parser.raise_error("DEFINE needs a condition after AS")
    return exp.Alias(this=condition, alias=name)


def _pattern(parser: Any) -> exp.Expr:
    """The text in the parentheses."""
    parser._match_l_paren()
    start, depth = parser._curr, 1
    while parser._curr and depth:
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(parser._curr.token_type, 0)
        if depth:
            parser._advance()
    end = parser._prev
    if not start or not parser._curr or not end or end.start < start.start:
        parser.raise_error("PATTERN has variables in parentheses: PATTERN (A B+ C)")
    text = exp.Literal.string(" ".join(parser._find_sql(start, end).split())).update_positions(start)
    parser._match_r_paren()
    return text
