"""Calls of Python aggregate functions, and the code that their node needs."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from engine.aggregates.python_function import PythonFunction
from engine.sql.aggregate_calls import aggregate_function
from engine.sql.algebra import Expr, Named
from engine.sql.rejected import SqlRejected


def any_python(calls: Sequence[Named]) -> bool:
    """Whether any call is of a Python function."""
    return bool(_functions(calls))


def require_known(calls: Sequence[Named]) -> None:
    """Raise SqlRejected for a Python aggregate function with OVER, as Flink does."""
    for _, call in calls:
        if isinstance(function := aggregate_function(call.unnest()), PythonFunction):
            message = (
                f"{function.name} is an aggregate function in Python, which Flink cannot call with OVER either. Group "
                "by a window, or use one of Flink's functions."
            )
            raise SqlRejected(message, call)


def code_of(calls: Sequence[Named], at: Expr | None) -> dict[str, str]:
    """The parameter with the code of the Python functions, if any. Raises SqlRejected for conflicting definitions."""
    texts = list(dict.fromkeys(function.code for function in _functions(calls)))
    if not texts:
        return {}
    meanings: dict[str, str] = {}
    for text in texts:
        for name, meaning in _defined(text).items():
            if meanings.setdefault(name, meaning) != meaning:
                message = f"the functions of a query stand in several files that define {name} otherwise. Use one file."
                raise SqlRejected(message, at)
    return {"code": "\n\n".join(text.strip("\n") for text in texts) + "\n" if texts[1:] else texts[0]}


def _functions(calls: Sequence[Named]) -> list[PythonFunction]:
    functions = (aggregate_function(call.unnest()) for _, call in calls)
    return [function for function in functions if isinstance(function, PythonFunction)]


def _defined(text: str) -> dict[str, str]:
    """The definitions in a module's text, by name."""
    defined: dict[str, str] = {}
    for statement in ast.parse(text).body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                defined[name] = ast.dump(statement)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                source = getattr(statement, "module", None)
                defined |= {alias.asname or alias.name: f"{source}.{alias.name}" for alias in names}
            case ast.Assign(targets=targets):
                named = [target.id for target in targets if isinstance(target, ast.Name)]
                defined |= dict.fromkeys(named, ast.dump(statement.value))
            case _:
                pass
    return defined
