"""Split a script into its parts, statement by statement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final

from sqlglot import TokenType, exp

from engine.errors import PipelineError, shortened
from engine.model.options import ZONE, has_effect, is_foreign
from engine.model.types import quote
from engine.model.zones import is_utc
from engine.operators.sink import Sink
from engine.script.altered import altered
from engine.script.asked import answered, explained
from engine.script.changelog_calls import with_changelog_views
from engine.script.failures import CannotBeRead, tokenizable
from engine.script.inserted_rows import as_declared, check_kinds, computed_rows
from engine.script.known_options import require_known_options
from engine.script.like import with_base
from engine.script.not_whole import require_whole
from engine.script.of_others import instead_of, is_ignored
from engine.script.parts import Insert, Parts
from engine.script.python_functions import create_function, is_create_function
from engine.script.recorded_clock import OPTION, ROWTIME, asks_for_clock, clock_ms, has_own_rowtime, with_rowtime
from engine.script.refused_by_flink import notes
from engine.script.same_names import told_apart
from engine.script.statements import (
    Cursor,
    Statement,
    begins_part_of_query,
    directives,
    parsed,
    place_of_token,
    raw,
    statements,
    without_prompts,
)
from engine.script.tables import create_table
from engine.script.two_tables import set_aside
from engine.script.windows_of_both import with_tables_of_bounds
from engine.sql.clauses.constants import NoConstant, values_of
from engine.sql.dialect import Flink
from engine.sql.emit_options import emit_options
from engine.sql.rejected import SqlRejected
from engine.sql.state_ttl import is_read

_OF_ALL: Final = ("pipeline", "description", "arrival")
_HARMLESS: Final = (
    "table.dml-sync",
    "parallelism.default",
    "pipeline.auto-watermark-interval",
)
# Before Flink 1.13; since then they begin with sql-client.
_OF_THE_CLIENT: Final = (
    *("execution.result-mode", "execution.max-table-result-rows", "execution.current-catalog"),
    *("execution.current-database", "execution.type", "execution.parallelism"),
)
_OF_CONFLUENT: Final = {
    "sql.local-time-zone": ZONE.name,
    "sql.state-ttl": "table.exec.state.ttl",
    "sql.tables.scan.idle-timeout": "table.exec.source.idle-timeout",
}
_ENFORCER: Final = "table.exec.sink.not-null-enforcer"
_MODE: Final = "execution.runtime-mode"
_SET: Final = re.compile(
    r"SET\s+(?:'([^']+)'|([\w.-]+))\s*=\s*(?:'((?:[^']|'')*)'|(.+?))\s*$", re.DOTALL | re.IGNORECASE
)
_MOST_SHOWN: Final = 60
_OPTIONS: Final = re.compile(r"/\*\+\s*OPTIONS\s*\(", re.IGNORECASE)
_OPTION: Final = re.compile(r"'((?:[^']|'')*)'\s*=\s*'((?:[^']|'')*)'")
_QUERY: Final = ("SELECT", "WITH", "(")
_STATEMENTS: Final = tuple(
    f"{word} {what}" for word in ("CREATE", "DROP", "ALTER") for what in ("TABLE", "VIEW", "FUNCTION")
) + ("INSERT INTO", "CREATE TEMPORARY", "EXECUTE STATEMENT", "BEGIN STATEMENT")
_FIRST_WORDS: Final = tuple("SELECT INSERT CREATE DROP ALTER SET EXPLAIN DESCRIBE SHOW WITH USE".split())  # noqa: SIM905
_QUIET: Final = tuple("SHOW DESCRIBE DESC EXPLAIN DROP ALTER RESET ANALYZE ADD LOAD UNLOAD".split())  # noqa: SIM905


def taken_apart(text: str) -> Parts:
    """The parts of a script, by kind of statement; those that cannot be read are among them as failures."""
    parts = Parts(warnings=notes(text))
    text, parts.failures = tokenizable(without_prompts(text))
    parts.statements, notes_on_names = told_apart([_bare(statement) for statement in statements(text)])
    parts.warnings += notes_on_names
    for statement in parts.statements:
        try:
            with parts.reading(statement):
                _take(replace(statement, directives=directives(statement.comment)), parts)
        except CannotBeRead as error:
            parts.failures.append(error.failure)
    if any(token.text == ROWTIME for statement in parts.statements for token in statement.tokens):
        for name, table in parts.tables.items():
            if not has_own_rowtime(table):
                parts.tables[name] = with_rowtime(table)
                parts.set_clock(name, for_windows=False)
    for name, table in parts.tables.items():
        if any(asks_for_clock(column.value) for column in table.computed):
            parts.set_clock(name, for_windows=False)
    is_whole = all(failure.defines for failure in parts.failures)
    if not parts.inserts:
        parts.inserts = parts.explained[-1:]
    if not parts.inserts and is_whole and "pipeline" not in parts.directives:
        _show(parts)
    return parts


def _take(statement: Statement, parts: Parts) -> None:
    parts.directives |= {name: value for name, value in statement.directives.items() if name in _OF_ALL}
    _statement(with_changelog_views(with_tables_of_bounds(_without_hints(statement, parts)), parts), parts)


def _show(parts: Parts) -> None:
    """Make results for a script without a query: the last table of a query, else every view, else every table."""
    shown = parts.filled[-1:] or list(parts.views)
    shown = shown or [name for name, table in parts.tables.items() if table.connector not in Sink.only_written]
    for name in shown:
        statement = parts.views[name] if name in parts.views else parts.tables[name].statement
        query = exp.select("*").from_(exp.to_table(quote(name), dialect=Flink))
        parts.inserts.append(Insert(None, (), query, statement, session=parts.session))


def _without_hints(statement: Statement, parts: Parts) -> Statement:
    """The statement without its hints, but for STATE_TTL. OPTIONS are taken over by the table before them.

    No other one has an effect.
    """
    tokens = statement.tokens
    hints = [at for at, token in enumerate(tokens) if token.token_type is TokenType.HINT and not is_read(tokens, at)]
    for at in hints:
        token = statement.tokens[at]
        name = statement.tokens[at - 1].text
        options = {key: value.replace("''", "'") for key, value in _OPTION.findall(token.text)}
        if options and _OPTIONS.match(token.text) and name in parts.tables:
            table = parts.tables[name]
            changed = replace(table, options={**table.options, **options})
            try:
                require_known_options(changed)
            except SqlRejected as error:
                raise SqlRejected(error.reason, place=place_of_token(token)) from error
            parts.tables[name] = changed
        else:
            hint = shortened(token.text.removeprefix("/*+").removesuffix("*/").strip())
            parts.warnings.append(f"line {token.line}: the hint {hint} is left out; it has no effect here.")
    remaining = tuple(token for at, token in enumerate(tokens) if at not in hints)
    return replace(statement, tokens=remaining) if hints else statement


def _as_select(statement: Statement) -> Statement | None:
    """The query of CREATE TABLE ... AS SELECT, from AS on, as of a view; None for any other CREATE TABLE."""
    depth = 0
    for at, token in enumerate(statement.tokens):
        depth += token.text.count("(") - token.text.count(")")
        after = statement.tokens[at + 1 :]
        if depth == 0 and token.text.upper() == "AS" and after and after[0].text.upper() in (*_QUERY, "VALUES"):
            return statement.after(at)
    return None


def _as_table(statement: Statement) -> Statement:
    """CREATE [OR ALTER] MATERIALIZED TABLE as the table that it fills; how fresh it is kept has no effect here."""
    at = next((at for at, token in enumerate(statement.tokens[:4]) if token.text.upper() == "MATERIALIZED"), None)
    if at is None or not statement.begins("CREATE"):
        return statement
    return replace(statement, tokens=(statement.tokens[0], *statement.tokens[at + 1 :]))


def _bare(statement: Statement) -> Statement:
    """The statement without the words of a surrounding statement set."""
    for words in (("EXECUTE", "STATEMENT", "SET"), ("BEGIN", "STATEMENT", "SET"), ("BEGIN",), ("EXECUTE",)):
        if statement.begins(*words):
            statement = statement.after(len(words))
    return statement


def _statement(statement: Statement, parts: Parts) -> None:
    if not statement.tokens or (statement.begins("END") and len(statement.tokens) == 1):
        return
    if statement.begins("END", "STATEMENT", "SET"):
        parts.warnings.append(f"line {statement.place[0]}: Flink would refuse this: END alone ends a statement set.")
        return
    require_whole(statement)
    statement = _as_table(statement)
    word = statement.tokens[0].text.upper()
    if _exists(statement, parts):
        return
    if statement.creates("TABLE") and (query := _as_select(statement)) is not None:
        name = Cursor(statement).created("TABLE")
        _new_name(name, statement, parts)
        parts.views[name] = query
        parts.filled.append(name)
    elif statement.creates("TABLE"):
        table, rest = create_table(statement)
        if not rest.is_done:
            table = with_base(table, rest, parts.tables)
        _new_name(table.name, statement, parts)
        parts.tables[table.name] = table
    elif statement.creates("VIEW"):
        cursor = Cursor(statement)
        name = cursor.created("VIEW")
        _new_name(name, statement, parts)
        parts.views[name] = statement.after(cursor.at)
    elif is_create_function(statement):
        function = create_function(statement)
        parts.functions[function.name.upper()] = function
    elif word == "INSERT":
        _insert(statement, parts)
    elif word == "USE" or (word in ("ALTER", "DROP") and altered(statement, parts)):
        # What USE means for tables of one name is in their names already (`same_names`).
        pass
    elif word in _QUERY:
        parts.inserts.append(
            Insert(None, (), parsed(statement.tokens, statement.text), statement, session=parts.session)
        )
    elif word == "SET":
        _set(statement, parts)
    elif word == "EXPLAIN" and (asked := explained(statement)) is not None:
        parts.explained.append(asked)
    elif (answer := answered(statement, parts)) is not None:
        parts.warnings.append(f"line {statement.place[0]}: {word}: {answer}")
    elif word in _QUIET or is_ignored(statement):
        parts.warnings.append(f"line {statement.place[0]}: {word} has no effect here and is ignored.")
    else:
        raise _unsupported(statement)


def _unsupported(statement: Statement) -> SqlRejected:
    """The error about a statement that a script here does not have, or whose first words have a slip."""
    if (instead := instead_of(statement)) is not None:
        return SqlRejected(f"{statement.tokens[0].text.upper()}: {instead}", place=statement.place)
    begin = " ".join(token.text for token in statement.tokens[:2])
    words = " ".join(token.text for token in statement.tokens[:2]).upper()
    if words.split()[0] == "TABLE":
        return SqlRejected(f"{begin} is no statement. Did you mean CREATE {begin}?", place=statement.place)
    near = get_close_matches(words, _STATEMENTS, 1, 0.8) or get_close_matches(words.split()[0], _FIRST_WORDS, 1, 0.8)
    if near and near[0] != words.split()[0]:
        return SqlRejected(f"{begin} is no statement. Did you mean {near[0]}?", place=statement.place)
    if begins_part_of_query(statement.tokens[0]):
        message = f"{begin} is a part of a query, and no query stands before it. Add its SELECT, or leave the part out."
        return SqlRejected(message, place=statement.place)
    first = raw(statement.tokens, statement.text).splitlines()[0]
    if len(first) > _MOST_SHOWN:
        first = f"{first[:_MOST_SHOWN]}..."
    message = (
        f"this is no statement of Flink SQL: {first!r}. Remove it, or make it a comment: write -- before each of its "
        "lines. A script consists of CREATE TABLE, CREATE VIEW, CREATE FUNCTION, SET, INSERT INTO and SELECT."
    )
    return SqlRejected(message, place=statement.place)


def _exists(statement: Statement, parts: Parts) -> bool:
    """Whether it creates a table or view that the script has: as in Flink that one stays, and is not created again."""
    kind = next((kind for kind in ("TABLE", "VIEW") if statement.creates(kind)), None)
    if kind is None or statement.begins("CREATE", "OR", "REPLACE"):
        return False
    name = Cursor(statement).created(kind)
    if name not in (*parts.tables, *parts.views) or name in parts.dropped:
        return False
    existing = parts.definition(name)
    # A temporary table hides a lasting one, and one without a connector is of another database.
    is_hidden = statement.begins("CREATE", "TEMPORARY") and not existing.begins("CREATE", "TEMPORARY")
    is_foreign = name in parts.tables and not parts.tables[name].options and name not in parts.rows
    if is_hidden or is_foreign:
        return False
    if not statement.creates(kind, "IF", "NOT", "EXISTS"):
        line, first = statement.place[0], existing.place[0]
        parts.warnings.append(
            f"line {line}: Flink would refuse this: there is already a {'table' if name in parts.tables else 'view'} "
            f"{name!r}, of line {first}, which stays as it is. To replace it, write DROP {kind} {name} before."
        )
    return True


def _new_name(name: str, statement: Statement, parts: Parts) -> None:
    if name in parts.tables or name in parts.views or name in parts.dropped:
        set_aside(name, statement, parts)
        parts.dropped.discard(name)
        for by_name in (parts.tables, parts.views, parts.rows):
            by_name.pop(name, None)
        parts.order = [other for other in parts.order if other != name]
    parts.order.append(name)


def _insert(statement: Statement, parts: Parts) -> None:
    statement = _without_conflict(statement)
    cursor = Cursor(statement)
    cursor.expect("INSERT")
    if not cursor.skip("OVERWRITE"):
        cursor.expect("INTO")
    cursor.skip("TABLE")
    target = cursor.name()
    fixed = cursor.assigned() if cursor.skip("PARTITION") else {}
    is_query = any(cursor.sees("(", word) for word in _QUERY)
    columns = tuple(cursor.listed()) if cursor.sees("(") and not is_query else ()
    query = cursor.query()
    if fixed:
        table = parts.target(target, statement)
        columns = columns or tuple(column.name for column in table.written if column.name not in fixed)
        columns += tuple(fixed)
        if isinstance(query, exp.Values):
            rows = [row if isinstance(row, exp.Tuple) else exp.Tuple(expressions=[row]) for row in query.expressions]
            given = [[*row.expressions, *(constant.copy() for constant in fixed.values())] for row in rows]
            query.set("expressions", [exp.Tuple(expressions=values) for values in given])
        else:
            items = [exp.Star(), *(exp.alias_(value, name, quoted=True) for name, value in fixed.items())]
            query = exp.select(*items).from_(exp.Subquery(this=query, alias=exp.TableAlias(this="s")))
    if isinstance(query, exp.Values):
        try:
            inserted = _rows_of(target, columns, query, statement, parts)
        except NoConstant:
            parts.inserts.append(Insert(target, columns, computed_rows(query), statement, session=parts.session))
            return
        except SqlRejected:
            # A table whose rows are refused still has no other rows than those of the script.
            parts.rows.setdefault(target, [])
            raise
        parts.rows.setdefault(target, []).extend(inserted)
    else:
        parts.inserts.append(Insert(target, columns, query, statement, session=parts.session))


def _rows_of(
    target: str, columns: Sequence[str], query: exp.Values, statement: Statement, parts: Parts
) -> list[list[Any]]:
    table = parts.target(target, statement)
    wanted = table.targets(columns, statement.place)
    rows: list[list[Any]] = []
    for row in parts.told(query).expressions:
        values = values_of(row)
        if len(values) != len(wanted):
            message = f"{target} has {len(wanted)} columns ({', '.join(wanted)}), but a row has {len(values)} values."
            raise SqlRejected(message, row)
        check_kinds(row, wanted, table)
        by_name = dict(zip(wanted, values, strict=True))
        rows.append([as_declared(by_name.get(column.name), column.type) for column in table.written])
    return rows


def _without_conflict(statement: Statement) -> Statement:
    """An INSERT without its ON CONFLICT. Raises SqlRejected for what a sink here does not do with equal keys."""
    last = statement.tokens[-4:]
    *words, what = [token.text.upper() for token in last]
    if words != ["ON", "CONFLICT", "DO"]:
        return statement
    if what != "DEDUPLICATE":
        message = (
            f"ON CONFLICT DO {what} is not supported: of rows with one key, a sink here keeps the last one. Write "
            "ON CONFLICT DO DEDUPLICATE, or choose a row per key in the query, by ROW_NUMBER."
        )
        raise SqlRejected(message, place=place_of_token(last[0]))
    return replace(statement, tokens=statement.tokens[:-4])


def _set(statement: Statement, parts: Parts) -> None:
    at = f"line {statement.place[0]}:"
    if len(statement.tokens) == 1:
        parts.warnings.append(f"{at} SET lists the options of a session, and has no effect here.")
        return
    match = _SET.fullmatch(raw(statement.tokens, statement.text).strip())
    if match is None:
        message = "SET takes a name and a value: SET 'table.exec.mini-batch.enabled' = 'true'."
        raise SqlRejected(message, place=statement.place)
    name, value = match[1] or match[2], (match[3] if match[3] is not None else match[4]).replace("''", "'")
    name = _OF_CONFLUENT.get(name, name)
    if name == OPTION:
        parts.clock_ms = clock_ms(value)
        return
    if name == _ENFORCER and value.upper() in ("DROP", "ERROR"):
        parts.session = replace(parts.session, drops_nulls=value.upper() == "DROP")
        return
    if name == _MODE:
        parts.session = replace(parts.session, is_batch=value.lower() == "batch")
    if name == _MODE and parts.session.is_batch:
        parts.warnings.append(f"{at} everything is a stream here: the rows that are left are those of the batch.")
        return
    if name.startswith("sql-client.") or name in _OF_THE_CLIENT:
        parts.warnings.append(f"{at} the option {name!r} is of Flink's SQL client and has no effect here.")
        return
    if name.startswith(("sql.", "client.")) or is_foreign(name):
        parts.warnings.append(f"{at} the option {name!r} has no effect here.")
        return
    try:
        is_ours = bool(emit_options({name: value})) or has_effect(name, value)
    except PipelineError as error:
        raise SqlRejected(error.sentence, place=statement.place) from error
    if name == ZONE.name and is_utc(value):
        parts.options.pop(name, None)
    elif is_ours:
        parts.options[name] = value
    elif name not in _HARMLESS:
        parts.warnings.append(f"{at} the option {name!r} has no effect here.")
