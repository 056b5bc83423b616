"""All errors for users, as sentences.

    StudioError                     one clear sentence; exit status 2 in the command line
    ├── PipelineError               the document is invalid: a node, a field, the value, advice
    │   ├── UnknownColumn           names the columns that exist
    │   ├── UnknownOperator         names the operators that exist
    │   ├── ExpressionError         an expression that the analyzer refused
    │   ├── TooDeep                 nested more deeply than Python can follow
    │   └── NotRead                 a statement of a script; the rest of the pipeline is planned without it
    ├── PlanRejected                Flink would reject it: the operators do not fit each other
    ├── SourceError                 a file that cannot be read at all
    │   ├── SourceMissing           there is no file, or not yet
    │   └── OutOfReach              what is named is no address, or nothing here can read it; a PipelineError, too
    ├── TargetError                 a place where a live run cannot write
    ├── RunFailed                   an operator failed while running
    │   ├── TookTooLong             a record, or the answer about some, that took too long
    │   └── EngineLost              the engine ended, or its connection broke
    ├── RunCancelled                the run was cancelled
    ├── EngineUnavailable           no Java, no Spark, no server at that address
    └── NotReplayable               an operator's state for one key cannot be computed from the key's records

A class has its facts as attributes and writes its own sentence. Invalid rows are not errors: they are
rejected rows with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher, get_close_matches

_FEW = 18
_NEAR = 0.7
_SIMILAR = 3
_LONG_WORD = re.compile(r"\S{201,}")
_LONGEST = 2000


def unknown_name(what: str, name: str, known: Iterable[str]) -> str:
    """The message for an unknown name, without the full stop: `unknown column 'q'. Available: k, v`.

    If it may be a slip: `unknown column 'amout'. Did you mean amount? Available: amount, user`.
    """
    names = tuple(known)
    by_lower = {candidate.casefold(): candidate for candidate in names}
    near = get_close_matches(name.casefold(), by_lower, 1, _NEAR) if 1 < len(names) <= _FEW else []
    meant = f"Did you mean {by_lower[near[0]]}? " if near else ""
    return f"unknown {what} {name!r}. {meant}{available(name, names)}"


def available(name: str, known: Iterable[str]) -> str:
    """The known names, without the full stop; of many only those that are most similar to an unknown one."""
    names = tuple(known)
    if len(names) <= _FEW:
        return f"Available: {', '.join(names) or 'none'}"
    wanted = SequenceMatcher(b=name.casefold())

    def similarity(each: str) -> float:
        wanted.set_seq1(each.casefold())
        return wanted.ratio()

    similar = sorted(names, key=similarity, reverse=True)[:_SIMILAR]
    return f"The most similar of {len(names):,}: {', '.join(similar)}"


def shortened(text: str, most: int = 200) -> str:
    """A text of at most `most` characters; the middle of a longer text is left out."""
    half = most // 2 - 3
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"


def shown(sentence: str) -> str:
    """A sentence that a page and a terminal can show, whatever text of a user it repeats."""
    # Half of a character cannot be shown. Names, hosts and values are words; a list of many is cut as a whole.
    whole = sentence.encode(errors="backslashreplace").decode()
    return shortened(_LONG_WORD.sub(lambda word: shortened(word[0]), whole), _LONGEST)


class StudioError(Exception):
    """The root: `str(error)` is a sentence for the user. `node` and `field` are its place, if known."""

    def __init__(self, sentence: str, node: str = "", field: str = "") -> None:
        self.sentence = shown(sentence)
        super().__init__(f"{node}: {self.sentence}" if node else self.sentence)
        self.node = node
        self.field = field


class PipelineError(StudioError):
    """The document is invalid at a node (and field)."""


class UnknownColumn(PipelineError):
    """A parameter names a column that its input does not have."""

    def __init__(self, node: str, field: str, name: str, known: Sequence[str]) -> None:
        self.name = name
        self.known = tuple(known)
        where = f"{field}: " if field else ""
        super().__init__(f"{where}{unknown_name('column', name, self.known)}.", node, field)


class UnknownOperator(PipelineError):
    """A node asks for an operator that does not exist."""

    def __init__(self, node: str, name: str, known: Sequence[str]) -> None:
        self.name = name
        super().__init__(f"{unknown_name('operator', name, known)}.", node, "operator")


class ExpressionError(PipelineError):
    """An expression that the analyzer refused."""

    def __init__(self, node: str, field: str, expression: str, reason: str) -> None:
        self.expression = expression
        self.reason = reason
        where = f"{field}: " if field else ""
        super().__init__(f"{where}{shortened(repr(expression))} cannot be used: {reason}", node, field)


class TooDeep(PipelineError):
    """A query, an expression or a type is nested more deeply than Python can follow."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} is nested too deeply. Split it: make a view, a node or a column of an inner part, and use that."
        )


class NotRead(PipelineError):
    """A statement of a script could not be read. line: of the script, from 1; 0: unknown."""

    def __init__(self, node: str, reason: str, line: int) -> None:
        self.line = line
        super().__init__(reason, node)


class PlanRejected(StudioError):
    """The operators do not fit each other; Flink would reject the query too."""


class SourceError(StudioError):
    """A source that cannot be read at all: a missing file, a broken Parquet file, no permission."""


class SourceMissing(SourceError):
    """There is no file where a source has its files."""


class OutOfReach(PipelineError, SourceError):
    """What a source names is no address, such as three dots, or nothing on this machine can read it."""


class TargetError(StudioError):
    """A place where a live run cannot write: no permission, no room, another table than the sink's."""


class RunFailed(StudioError):
    """An operator failed while it ran."""


class TookTooLong(RunFailed):
    """An expression that works on a record for too long, and was ended, perhaps with its engine."""


class RunCancelled(StudioError):
    """The run was cancelled. why: a sentence."""

    def __init__(self, why: str = "the run was cancelled.") -> None:
        super().__init__(why)


class EngineUnavailable(StudioError):
    """Spark cannot be started or reached."""


class EngineLost(RunFailed):
    """The engine ended, or the connection to it broke, while a pipeline ran."""


class NotReplayable(StudioError):
    """An operator's state for one key cannot be computed from the records of this key alone."""
