"""CREATE FUNCTION ... LANGUAGE PYTHON: reading and writing.

    CREATE TEMPORARY FUNCTION count_char AS 'functions.count_char' LANGUAGE PYTHON;

The code is in the file functions.py next to the script, as with Flink's `python.files`. In a script of the studio it is
in a comment above the statement: `-- studio.python: {"code": ...}`. As in Flink, only a TEMPORARY SYSTEM FUNCTION may
have the name of a built-in function.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sqlglot import TokenType

from engine.aggregates.python_function import WithFunctions
from engine.aggregates.registry import functions as aggregates
from engine.errors import unknown_name
from engine.functions import FUNCTIONS
from engine.model.pipeline import Node, Pipeline
from engine.model.types import literal
from engine.operators.python_function import Python
from engine.python_functions.declared import Rejected, declared_in
from engine.reading.files import named_folders
from engine.registry import configured
from engine.script.statements import Cursor, Statement
from engine.sql.clauses.python_calls import Functions, PythonFunction
from engine.sql.identifiers import identifier
from engine.sql.rejected import SqlRejected

_MODULE: Final = "functions"
_LARGEST: Final = 100_000


@dataclass(frozen=True)
class FunctionDdl:
    """A function as declared in a script: its name in SQL, and its location as `module.function`."""

    name: str
    target: str
    statement: Statement


def is_create_function(statement: Statement) -> bool:
    """Whether a statement declares a function."""
    return any(
        statement.begins("CREATE", *words, "FUNCTION") for words in ((), ("TEMPORARY",), ("TEMPORARY", "SYSTEM"))
    )


def create_function(statement: Statement) -> FunctionDdl:
    """A declaration. Raises SqlRejected for languages other than Python, and for the name of a known function."""
    cursor = Cursor(statement)
    cursor.expect("CREATE")
    cursor.skip("TEMPORARY")
    is_system = cursor.skip("SYSTEM")
    cursor.expect("FUNCTION")
    cursor.skip("IF", "NOT", "EXISTS")
    at = cursor.here
    name = cursor.name()
    if (name.upper() in FUNCTIONS and not is_system) or name.upper() in aggregates():
        message = f"there is a function {name.upper()} already. Give yours another name."
        raise cursor.rejected(message, at)
    if cursor.sees("("):
        message = (
            f"Flink has no functions that are written in SQL. Write the expression where {name} is called, or a "
            f"function in Python: CREATE FUNCTION {name} AS 'functions.{name}' LANGUAGE PYTHON."
        )
        raise cursor.rejected(message)
    cursor.expect("AS")
    target = cursor.take()
    if target.token_type is not TokenType.STRING:
        message = f"AS takes the place of the function in quotes: AS 'functions.{name}'."
        raise cursor.rejected(message, target)
    if not cursor.skip("LANGUAGE", "PYTHON"):
        message = "functions in Java and Scala are not supported. Write it in Python: LANGUAGE PYTHON."
        raise cursor.rejected(message, target)
    return FunctionDdl(name, target.text, statement)


def function_of(ddl: FunctionDdl, folder: Path) -> PythonFunction:
    """A function of a script with its code. folder: of the script. Raises SqlRejected."""
    module, _, name = ddl.target.rpartition(".")
    told = ddl.statement.directives.get("python", {})
    code, type_ = told.get("code"), told.get("type", "")
    if not isinstance(code, str):
        code = _code_of(module, folder, ddl)
    try:
        functions = declared_in(code)
    except Rejected as error:
        message = f"the code of {ddl.name}: {error}"
        raise SqlRejected(message, place=ddl.statement.place) from error
    if name not in functions:
        message = f"{ddl.target}: {unknown_name('function', name, functions)}."
        raise SqlRejected(message, place=ddl.statement.place)
    return PythonFunction(name, code, type_ if isinstance(type_, str) else "")


def declarations(pipeline: Pipeline) -> tuple[Functions, Sequence[str], Sequence[str]]:
    """The functions of a pipeline's nodes, their statements, and warnings about further requirements of Flink."""
    functions: dict[str, PythonFunction] = {}
    statements, warnings = [], []
    for node, udf in _called(pipeline):
        name = udf.function
        first = functions.setdefault(name.upper(), udf)
        if first is not udf:
            if first != udf:
                warnings.append(f"{node.id}: another node has another function {name}; give one of them another name.")
            continue
        told: dict[str, Any] = {"code": udf.code, **({"type": udf.type} if udf.type else {})}
        target = literal(f"{_MODULE}.{name}")
        system = "SYSTEM " if name.upper() in FUNCTIONS else ""
        statements.append(
            f"-- studio.python: {json.dumps(told, ensure_ascii=False)}\n"
            f"CREATE TEMPORARY {system}FUNCTION {identifier(name)} AS {target} LANGUAGE PYTHON;"
        )
        declares = f", with @udf(result_type='{udf.type}')" if udf.type else ""
        if udf.is_aggregate and declared_in(udf.code)[name].is_class:
            declares = f", with {name} = udaf({name}())"
        warnings.append(f"{node.id}: Flink needs {name} in a file {_MODULE}.py of python.files{declares}.")
    return functions, statements, warnings


def _called(pipeline: Pipeline) -> Iterator[tuple[Node, PythonFunction]]:
    """The nodes that call functions, each with the function."""
    for node in pipeline.nodes:
        operator = configured(node)
        if isinstance(operator, Python):
            yield node, PythonFunction(operator.declared(node.id).name, operator.code, operator.type)
        elif isinstance(operator, WithFunctions):
            for name in dict.fromkeys(call.function.name for call in operator.python_calls):
                yield node, PythonFunction(name, operator.code)


def _code_of(module: str, folder: Path, ddl: FunctionDdl) -> str:
    """The text of a module next to a script. Raises SqlRejected."""
    parts = module.split(".")
    if not all(part.isidentifier() for part in parts):
        message = f"{ddl.target}: write it as 'module.function'."
        raise SqlRejected(message, place=ddl.statement.place)
    file = folder.joinpath(*parts[:-1], f"{parts[-1]}.py")
    problem = "is in none of the folders that this studio reads"
    if named_folders.may_be_read(file):
        try:
            with file.open("rb") as opened:
                return opened.read(_LARGEST + 1).decode("utf-8")
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}"
        except UnicodeDecodeError:
            problem = "is not UTF-8 text"
    message = f"{ddl.target}: {file} {problem}."
    raise SqlRejected(message, place=ddl.statement.place)
