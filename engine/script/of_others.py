"""Statements that a script here does not have: what they are for, and what to write instead.

They stand in published scripts: of Flink's client and of its batch mode, of Confluent's models and agents, and of the
databases that a script's tables come from.
"""

from __future__ import annotations

from typing import Final

from engine.script.statements import Statement

_MODEL: Final = (
    "models, connections, agents and tools are called outside of Flink, and not from here. The rest of the script is "
    "read. To go on from their answers, create a table with the answers' columns and insert rows, or call a function "
    "in Python: CREATE FUNCTION f AS 'functions.f' LANGUAGE PYTHON."
)
_CHANGES: Final = (
    "Flink changes rows in place only in batch, in tables whose connector can. In a stream, insert the row's new state "
    "into a table with a PRIMARY KEY, or read a changelog (debezium-json)."
)
_DATABASE: Final = (
    "this is a statement of a database, not of Flink. Run it there; a table with 'connector' = 'jdbc' or "
    "'postgres-cdc' reads the result."
)
_PLAN: Final = (
    "a compiled plan is of one version of Flink, and is not read here. Write the INSERT INTO that it was made of."
)
_WORDS: Final = {
    "JAR": "EXECUTE JAR runs a program, which is not read here. Write as INSERT INTO ... SELECT what it does.",
    **dict.fromkeys(("PLAN", "COMPILE PLAN", "COMPILE AND"), _PLAN),
    **dict.fromkeys(
        (f"{verb} {noun}" for verb in ("CREATE", "ALTER") for noun in ("MODEL", "CONNECTION", "AGENT", "TOOL")), _MODEL
    ),
    **dict.fromkeys(("UPDATE", "DELETE", "TRUNCATE", "MERGE"), _CHANGES),
    **dict.fromkeys(
        (
            *("GRANT", "REVOKE", "EXEC", "COMMIT", "ROLLBACK", "START TRANSACTION", "REFRESH", "COPY", "VACUUM"),
            *(f"CREATE {noun}" for noun in ("USER", "ROLE", "SCHEMA", "INDEX", "SEQUENCE", "PUBLICATION", "EXTENSION")),
            *(f"CREATE {noun}" for noun in ("TRIGGER", "PROCEDURE", "TYPE", "EXTERNAL", "SECRET")),
            *("ALTER USER", "ALTER ROLE", "ALTER SYSTEM", "ALTER DATABASE", "DROP USER", "DROP SCHEMA"),
        ),
        _DATABASE,
    ),
    "CREATE STREAM": "CREATE STREAM is of ksqlDB. Flink has CREATE TABLE t (...) WITH ('connector' = 'kafka', ...).",
}
_IGNORED: Final = (
    *("HELP", "QUIT", "EXIT", "CLEAR", "SOURCE", "CALL", "STOP JOB", "REMOVE JAR", "DROP MODEL", "DROP CONNECTION"),
    *("DROP AGENT", "DROP TOOL", "DROP CATALOG", "DROP DATABASE", "ALTER CATALOG", "CREATE CATALOG", "CREATE DATABASE"),
)


def instead_of(statement: Statement) -> str | None:
    """Why a statement of others is not read, and what to write instead; None for any other statement."""
    return next((why for words, why in _WORDS.items() if statement.begins(*words.split())), None)


def is_ignored(statement: Statement) -> bool:
    """Whether it only has an effect on Flink's client, on its catalogs or on its jobs."""
    return any(statement.begins(*words.split()) for words in _IGNORED)
