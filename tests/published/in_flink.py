"""Runs published scripts in Flink and records what their SELECTs give.

    CHANGELOG_STUDIO_FLINK=<python with apache-flink>  python -m tests.published.in_flink tests/published/scripts/*.sql

Topics and folders become JSON files of a temporary folder, which is all that this Flink can reach. Each answer is
written beside the scripts, as `answers/NAME.txt`: one changelog record per line, after a line with the columns, and a
blank line between two SELECTs; or why Flink refuses the script.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from engine.flink.environment import ENVIRONMENT
from engine.flink.process import FlinkProcess

_ELSEWHERE = re.compile(
    r"'connector'\s*=\s*'(?:kafka|filesystem)'(?:[^()']|'[^']*')*?(?=\s*\)(?:\s*;|\s*$))", re.MULTILINE
)
_TOKEN = re.compile(r"--[^\n]*|/\*(?!\+).*?\*/|'(?:[^']|'')*'|`[^`]*`|;|[^;'`/-]+|[-/]", re.DOTALL)


def statements(text: str) -> Iterator[str]:
    """The statements of a script, a statement set as one."""
    current = ""
    for token in _TOKEN.findall(text):
        if token != ";":
            current += "" if token.startswith(("--", "/*")) and not token.startswith("/*+") else token
            continue
        if re.match(r"\s*EXECUTE\s+STATEMENT\s+SET", current) and not re.search(r"\bEND\s*$", current):
            current += token
            continue
        yield current.strip()
        current = ""


def within_reach(statement: str) -> str:
    """The statement with an empty file of its own in place of a topic or folder."""
    if not re.match(r"CREATE\s+(?:TEMPORARY\s+)?TABLE", statement):
        return statement
    file = f"'connector' = 'filesystem', 'path' = '{tempfile.mkdtemp()}', 'format' = 'json'"
    return _ELSEWHERE.sub(lambda _: file, statement)


def main() -> None:
    """Record the answers, one script after the other."""
    flink = FlinkProcess(os.environ[ENVIRONMENT])
    for name in map(Path, sys.argv[1:]):
        script = [within_reach(each) for each in statements(name.read_text(encoding="utf-8"))]
        (answer,) = flink.ask([{"statements": script}])
        if "error" in answer:
            reasons = [line.strip() for line in answer["error"].splitlines() if "Exception: " in line]
            lines = [f"refused: {(reasons or [answer['error'][:200]])[-1]}"]
        else:
            lines = answer["printed"]
        sys.stdout.write(f"{name.stem}: {lines[:3]}\n")
        sys.stdout.flush()
        if lines:
            (name.parent.parent / "answers" / f"{name.stem}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    flink.close()


if __name__ == "__main__":
    main()
