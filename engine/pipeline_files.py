"""A pipeline in a file: a document (.json), or a script of Flink SQL (.sql)."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from engine.errors import PipelineError, shortened
from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.script import script_of

_LARGEST: Final = 64 << 20


@dataclass(frozen=True)
class Job:
    """A loaded pipeline file. sinks: for a script, those of its statements.

    identity: of the pipeline, by which the studio finds its runs: that of an export, else one of the file's path.
    warnings: what of a script is ignored, or could not be read. is_whole: all statements of the script were read.
    """

    pipeline: Pipeline
    folder: Path
    identity: str
    sinks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    is_whole: bool = True


def job_in(path: Path) -> Job:
    """Read a pipeline's file. Raises PipelineError, SqlRejected."""
    text = _text_of(path)
    folder = path.resolve().parent
    of_file = f"file-{sha256(str(path.resolve()).encode(errors='surrogateescape')).hexdigest()[:16]}"
    if path.suffix.lower() != ".sql":
        read = Pipeline.from_json(text)
        return Job(read.model_copy(update={"identity": ""}), folder, read.identity or of_file)
    script = script_of(text, TypeRules(), folder, path.stem)
    warnings = (*script.warnings, *(failure.sentence for failure in script.failures))
    return Job(script.pipeline, folder, of_file, script.jobs, warnings, not script.failures)


def _text_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) <= _LARGEST:
            return data.decode("utf-8")
        reason = f"it is larger than {_LARGEST >> 20} MB, which no pipeline is"
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except OSError as error:
        reason = error.strerror or "it is no file"
    except ValueError:
        reason = "this is no file name"
    message = f"{shortened(str(path))} cannot be read: {reason}."
    raise PipelineError(message)
