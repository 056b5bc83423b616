"""A kept test on disk.

late-order/
  test.json                      `engine.kept.manifest`
  pipeline.json                  the pipeline; pipeline.sql is the same for people to read
  sources/orders.jsonl           what each source read (`engine.reading.recorded_text`)
  expected/totals.jsonl          what each output gave (`engine.kept.answers`)
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import uuid4

from engine.errors import PipelineError, shortened
from engine.expressions.analyzer import TypeRules
from engine.kept.answers import Answer
from engine.kept.manifest import FILE, PIPELINE, Manifest
from engine.model.pipeline import Pipeline
from engine.pipeline_files import job_in
from engine.reading.recorded_text import TEXT
from engine.script import sql_of

SQL: Final = "pipeline.sql"
SOURCES: Final = "sources"
EXPECTED: Final = "expected"


@dataclass(frozen=True)
class KeptTest:
    """A test in a folder."""

    folder: Path
    manifest: Manifest

    @classmethod
    def in_folder(cls, folder: Path) -> KeptTest:
        """Read the description of a test. Raises PipelineError."""
        try:
            text = (folder / FILE).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            message = f"{shortened(str(folder))} is no kept test: it has no readable {FILE}."
            raise PipelineError(message) from error
        return cls(folder, Manifest.from_json(text))

    @property
    def name(self) -> str:
        """Its name."""
        return self.manifest.name

    def recordings(self) -> dict[str, Path]:
        """The recordings of its sources. Raises PipelineError."""
        paths = {node: self.folder / SOURCES / f"{node}{TEXT}" for node in self.manifest.sources}
        for node, path in paths.items():
            if not path.is_file():
                message = f"the test lacks the records of a source, {SOURCES}/{path.name}."
                raise PipelineError(message, node)
        return paths

    @property
    def records(self) -> int:
        """How many records its sources have, with explicit watermarks."""
        return sum(len(path.read_bytes().splitlines()) - 2 for path in self.recordings().values())

    def pipeline(self) -> Pipeline:
        """The pipeline that it was kept with. Raises PipelineError."""
        return job_in(self.folder / self.manifest.pipeline).pipeline

    @property
    def identity(self) -> str:
        """Of its pipeline; empty if it has none, or cannot be read."""
        try:
            stored = json.loads((self.folder / self.manifest.pipeline).read_text(encoding="utf-8")).get("identity", "")
        except (OSError, ValueError, AttributeError):
            return ""
        return stored if isinstance(stored, str) else ""

    def expected(self) -> dict[str, Answer]:
        """What it expects, by output. An output whose file is missing is expected to be empty."""
        answers = {}
        for edge in self.manifest.edges:
            try:
                lines = (self.folder / EXPECTED / f"{edge}.jsonl").read_text(encoding="utf-8").split("\n")
            except FileNotFoundError:
                lines = []
            except (OSError, UnicodeDecodeError) as error:
                message = f"{EXPECTED}/{edge}.jsonl cannot be read."
                raise PipelineError(message) from error
            lines = [line for line in lines if line.strip()]
            answers[edge] = Answer(tuple(_names(lines[0], edge)) if lines else (), tuple(lines[1:]))
        return answers

    def accept(self, answers: Mapping[str, Answer], pipeline: Pipeline | None = None) -> None:
        """Replace what it expects; the pipeline too, if it was tested with another one and has its own."""
        expected = self.folder / EXPECTED
        expected.mkdir(exist_ok=True)
        for edge, answer in answers.items():
            _replace(expected / f"{edge}.jsonl", answer.to_text())
        if pipeline is not None and self.manifest.pipeline == PIPELINE:
            own_pipeline = pipeline.model_copy(update={"identity": pipeline.identity or self.identity})
            _replace(self.folder / PIPELINE, f"{own_pipeline.to_json()}\n")
            _write_sql(own_pipeline, self.folder)

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.folder)


def _names(line: str, edge: str) -> list[str]:
    try:
        names = json.loads(line)
    except ValueError:
        names = None
    if not isinstance(names, list):
        message = f"{EXPECTED}/{edge}.jsonl does not begin with the names of its columns."
        raise PipelineError(message)
    return [str(name) for name in names]


def write_description(folder: Path, manifest: Manifest, pipeline: Pipeline) -> None:
    """Write a new test's files but for records and expectations."""
    (folder / FILE).write_text(manifest.to_json(), encoding="utf-8")
    (folder / PIPELINE).write_text(f"{pipeline.to_json()}\n", encoding="utf-8")
    _write_sql(pipeline, folder)


def _write_sql(pipeline: Pipeline, folder: Path) -> None:
    """The pipeline as SQL, for people who compare versions; there is none where SQL lacks something."""
    try:
        text = sql_of(pipeline, TypeRules(), folder).text
    except PipelineError:
        (folder / SQL).unlink(missing_ok=True)
        return
    _replace(folder / SQL, text)


def _replace(file: Path, text: str) -> None:
    """Write a file at once, so that one that is read meanwhile is whole."""
    staged = file.with_name(f".{file.name}.{uuid4().hex}")
    staged.write_text(text, encoding="utf-8")
    staged.replace(file)


def tests_in(places: Iterable[Path]) -> Iterator[Path]:
    """The folders of tests at and below these places, in order of their paths. Raises PipelineError if one has none."""
    for place in places:
        # Hidden folders are tests that are being written.
        files = place.rglob(FILE) if place.is_dir() else ()
        folders = sorted(file.parent for file in files if not file.parent.name.startswith("."))
        if not folders:
            message = f"{shortened(str(place))} holds no kept test: no {FILE} is in it or below it."
            raise PipelineError(message)
        yield from folders
