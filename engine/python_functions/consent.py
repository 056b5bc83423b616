"""The Python code that may run: CHANGELOG_STUDIO_PYTHON.

A pipeline is a document that may come from others, and code has all rights of the studio. So code only runs after a
user of this machine has read and allowed exactly this text.

    a file      one hash per line, of each allowed text; the app has such a file next to its store
    all         every text is allowed (`--allow-python` of the command line)
    not set     no text is allowed; the default of a studio that others use
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.errors import PipelineError

ENVIRONMENT: Final = "CHANGELOG_STUDIO_PYTHON"
ALL: Final = "all"


class CodeNotAllowed(PipelineError):
    """A node has Python code that is not allowed yet."""

    def __init__(self, node: str) -> None:
        if can_allow():
            advice = "Read it, then allow it in the form of the node"
        else:
            advice = f"Whoever runs the studio can allow it: {ENVIRONMENT}={ALL}, or run with --allow-python"
        super().__init__(
            f"its code in Python can do whatever the studio can, and is not allowed yet. {advice}.", node, "code"
        )


def is_allowed(code: str) -> bool:
    """Whether a text may run."""
    setting = os.environ.get(ENVIRONMENT, "")
    if setting == ALL or not code:
        return bool(setting) or not code
    try:
        return bool(setting) and digest(code) in Path(setting).read_text(encoding="ascii").split()
    except (OSError, UnicodeDecodeError):
        return False


def can_allow() -> bool:
    """Whether users of the studio may allow a text."""
    return os.environ.get(ENVIRONMENT, "") not in ("", ALL)


def allow(code: str) -> None:
    """Allow a text from now on. Raises PipelineError if this cannot be stored."""
    assert can_allow()
    place = os.environ[ENVIRONMENT]
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a", encoding="ascii") as file:
            file.write(f"{digest(code)}\n")
    except OSError as error:
        message = f"what is allowed cannot be noted in {place}: {error.strerror}."
        raise PipelineError(message) from error


def digest(code: str) -> str:
    """The hash of a text."""
    return hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()


def require_consent(nodes: Iterable[tuple[str, Operator | Source]]) -> None:
    """Raise CodeNotAllowed for the first node with code that is not allowed."""
    for name, operator in nodes:
        if isinstance(operator, Operator) and not is_allowed(operator.foreign_code):
            raise CodeNotAllowed(name)
