"""Flink SQL scripts: reading and writing.

reading     a script as one pipeline: taken apart into statements, tables made sources by their connectors, inserts made
            jobs, equal parts shared; views for scripts of the studio
writing     a pipeline as a script, a view per node
kept_text   the script that a pipeline was opened from, as far as it is still true
program     a pipeline as a PySpark program
recognised  whether a text is a script
"""

from __future__ import annotations

from engine.script.program import program_of
from engine.script.reading import Script, script_of
from engine.script.recognised import is_sql
from engine.script.writing import Written, sql_of

__all__ = ["Script", "Written", "is_sql", "program_of", "script_of", "sql_of"]
