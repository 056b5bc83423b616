"""The folders keep their promises: who imports whom, what lies at the top, how long a file may be."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.aggregates.registry import functions
from engine.contract import frames
from engine.registry import operators, sources

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("ui", "engine", "storage")
MAX_LINES = 400

MAY_NOT_IMPORT = {
    "engine": {"ui", "storage", "tests", "streamlit", "duckdb"},
    "storage": {"ui", "tests", "streamlit", "pyspark"},
    "ui": {"tests", "pyspark", "duckdb"},
}

# The command line joins engine and store; a DuckDB file that somebody has is a source as any other.
ALLOWED = {"storage": "engine/__main__.py", "duckdb": "engine/reading/tables/duckdb_file.py"}


@dataclass(frozen=True)
class Import:
    """One imported module; `at_start` when it is loaded with its file, not for typing or in a function."""

    file: Path
    line: int
    module: str
    at_start: bool

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"

    def is_of(self, package: str) -> bool:
        return self.module == package or self.module.startswith(package + ".")


def python_files(*folders: str) -> list[Path]:
    return sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))


def imports_of(file: Path) -> Iterator[Import]:
    def visit(node: ast.AST, at_start: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            match child:
                case ast.Import(names=names):
                    for name in names:
                        yield Import(file, child.lineno, name.name, at_start)
                case ast.ImportFrom(module=module, names=names, level=level):
                    above = file.relative_to(ROOT).parts[:-level] if level else ()
                    base = ".".join([*above, *([module] if module else [])])
                    yield Import(file, child.lineno, base, at_start)
                    for name in names:
                        if (ROOT / base.replace(".", "/") / f"{name.name}.py").exists():
                            yield Import(file, child.lineno, f"{base}.{name.name}", at_start)
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                    yield from visit(child, False)
                case ast.If(test=test) if "TYPE_CHECKING" in ast.unparse(test):
                    yield from visit(child, False)
                case _:
                    yield from visit(child, at_start)

    yield from visit(ast.parse(file.read_text(encoding="utf-8")), True)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_only_what_its_promise_allows(folder: str) -> None:
    broken = [
        str(found)
        for file in python_files(folder)
        for found in imports_of(file)
        if any(found.is_of(package) for package in MAY_NOT_IMPORT[folder])
        and not any(
            found.is_of(package) and file.relative_to(ROOT).as_posix() == where for package, where in ALLOWED.items()
        )
    ]
    assert not broken


def test_the_command_line_is_the_one_place_where_the_engine_meets_the_store() -> None:
    """`run --store` joins both, as an entry point may, and loads the store only when it is asked for."""
    joins = [found for file in python_files("engine") for found in imports_of(file) if found.is_of("storage")]
    assert {str(found).split(":")[0] for found in joins} == {"engine/__main__.py"}
    assert not any(found.at_start for found in joins)


def test_operators_and_sources_start_without_spark() -> None:
    broken = [
        str(found)
        for file in python_files("engine/operators", "engine/sources")
        for found in imports_of(file)
        if found.at_start and found.is_of("pyspark")
    ]
    assert not broken


def test_what_storage_takes_from_the_engine_does_not_load_spark() -> None:
    waiting = [found for file in python_files("storage") for found in imports_of(file) if found.at_start]
    seen: set[str] = set()
    broken = []
    while waiting:
        found = waiting.pop()
        if found.is_of("pyspark"):
            broken.append(str(found))
        file = ROOT / (found.module.replace(".", "/") + ".py")
        if found.is_of("engine") and found.module not in seen and file.exists():
            seen.add(found.module)
            waiting += [further for further in imports_of(file) if further.at_start]
    assert not broken


def test_no_two_files_import_each_other_however_far_round() -> None:
    """Imports for typing and within functions count as well: each file can be read before those that need it."""

    def module(file: Path) -> str:
        return file.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")

    def needs(file: Path) -> set[str]:
        found = list(imports_of(file))
        of_packages = {(each.line, each.module.rpartition(".")[0]) for each in found}
        return {each.module for each in found if (each.line, each.module) not in of_packages}

    needed = {module(file): needs(file) - {module(file)} for file in python_files(*FOLDERS)}
    while free := [name for name, others in needed.items() if not others & needed.keys()]:
        for name in free:
            del needed[name]
    assert {name: others & needed.keys() for name, others in needed.items()} == {}


# From those that know nothing of the others to those that know all. An arrow that runs up: a rule in the wrong folder.
ORDER = (
    *("errors", "caches", "scratch", "model", "functions", "expressions", "contract", "columnar", "python_functions"),
    *("reading", "writing"),
    *("mini_batch", "ranking", "deduplication", "joins", "aggregates", "windows", "patterns", "operators", "sources"),
    *("registry", "examples", "sql", "planner", "spark", "script", "runtime", "batch_check", "local", "replay"),
    *("live_runs", "recordings", "running", "ttl_trials", "pipeline_files", "kept", "flink", "command_line"),
    "__main__",
)


def test_arrows_between_the_folders_of_the_engine_run_down() -> None:
    """Imports for typing and within functions count as well."""
    level = {name: at for at, name in enumerate(ORDER)}

    upward = [
        str(found)
        for file in python_files("engine")
        for found in imports_of(file)
        if found.is_of("engine") and found.module != "engine" and file != ROOT / "engine" / "__init__.py"
        if level[found.module.split(".")[1]] > level[file.relative_to(ROOT / "engine").with_suffix("").parts[0]]
    ]
    assert upward == []


def test_no_fragment_is_without_a_guard() -> None:
    """A fragment is redrawn without the page around it, and so without the guard of the page."""
    made = [file.relative_to(ROOT).as_posix() for file in python_files("ui") if "st.fragment" in file.read_text()]
    assert made == ["ui/shell/guard.py"]


def test_enter_in_a_list_takes_one_choice_not_all_that_match() -> None:
    calls = [
        (file, node)
        for file in python_files("ui")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "multiselect"
    ]
    assert calls
    takes_all = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file, node in calls
        if not any(each.arg == "select_all" and ast.unparse(each.value) == "False" for each in node.keywords)
    ]
    assert not takes_all, "Streamlit's first choice would be all matches"


def test_the_bootstrap_needs_nothing_installed() -> None:
    entries = [ROOT / folder / name for folder in ("ui", "tests") for name in ("__init__.py", "__main__.py")]
    broken = [
        str(found)
        for file in [*entries, *python_files("ui/bootstrap")]
        for found in imports_of(file)
        if not found.is_of("ui.bootstrap") and found.module.partition(".")[0] not in sys.stdlib_module_names
    ]
    assert not broken


def test_the_top_level_holds_only_what_the_readme_names() -> None:
    made_by_use = re.compile(r"__pycache__|.*\.duckdb(\.wal)?")
    shown = {
        entry.name
        for entry in ROOT.iterdir()
        if not entry.name.startswith(".") and not made_by_use.fullmatch(entry.name)
    }
    assert shown == {"ui", "engine", "storage", "tests", "requirements.txt", "README.md"}


def test_no_file_holds_two_subjects() -> None:
    lengths = {file: len(file.read_text(encoding="utf-8").splitlines()) for file in python_files(*FOLDERS)}
    assert {str(file.relative_to(ROOT)): n for file, n in lengths.items() if n > MAX_LINES} == {}


def test_every_module_is_named_for_an_idea() -> None:
    vague = re.compile(r"_?(utils?|helpers?|common|misc|tools?|base)", re.IGNORECASE)
    files = python_files(*FOLDERS, "tests")
    folders = {folder for file in files for folder in file.relative_to(ROOT).parents}
    assert not [path for path in [*files, *folders] if vague.fullmatch(path.stem)]


def test_nothing_names_a_place_on_somebodys_machine() -> None:
    somebody = re.compile(r"(?<![\w.])/(?:work|root|home|Users)/[\w.-]+")
    kinds = {".py", ".toml", ".md", ".txt", ".ini", ".json", ".css"}
    places = [
        f"{file.relative_to(ROOT)}: {found[0]}"
        for folder in (*FOLDERS, "tests", ".streamlit", ".ci")
        for file in sorted((ROOT / folder).rglob("*"))
        if file.is_file() and (file.suffix in kinds or folder == ".ci") and "node_modules" not in file.parts
        for found in somebody.finditer(file.read_text(encoding="utf-8"))
    ]
    assert not places


def test_an_internal_column_is_spelled_in_one_place() -> None:
    names = [value for value in vars(frames).values() if isinstance(value, str) and re.fullmatch(r"__\w+[^_]", value)]
    assert {"__seq", "__step", "__kind"} <= set(names)
    spelled = re.compile(rf"(?<!\w)(?:{'|'.join(names)}|__k(?=[\d{{])\S*|__v(?=[\d{{])\S*)(?!\w)")
    broken = [
        f"{file.relative_to(ROOT)}:{at}: {found[0]}"
        for file in python_files(*FOLDERS)
        if file != ROOT / "engine" / "contract" / "frames.py"
        for at, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for found in spelled.finditer(line)
    ]
    assert not broken


# Words that mean something else as well: a role, a format to save in, a function of SQL, a key of a file of settings.
ALSO_WORDS = {"sink", "rows", "csv", "parquet", "duckdb", "sqlite", "repeat", "aggregate", "project", "sort", "unnest"}


def test_storage_and_ui_know_no_operator_and_no_source_by_name() -> None:
    """What an operator is, it says itself: one that is added is known to every page without a change there."""
    names = {*operators(), *sources()}
    broken = []
    for file in python_files("storage", "ui"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            told = isinstance(node, ast.Constant) and node.value in names - ALSO_WORDS
            if told or _names_an_operator(node, names):
                broken.append(f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}")
        broken += [
            str(found) for found in imports_of(file) if found.is_of("engine.operators") or found.is_of("engine.sources")
        ]
    assert not broken


def _names_an_operator(node: ast.AST, names: set[str]) -> bool:
    """Whether what is called `operator` is compared or matched with a name, or given one; or a node is added by one."""

    def asks(part: ast.AST) -> bool:
        return (
            isinstance(part, ast.Attribute | ast.Name)
            and (part.attr if isinstance(part, ast.Attribute) else part.id) == "operator"
        )

    def has_name(*parts: ast.AST | None) -> bool:
        return any(
            isinstance(each, ast.Constant) and each.value in names for part in parts if part for each in ast.walk(part)
        )

    match node:
        case ast.Compare(left=left, comparators=others):
            return any(map(asks, (left, *others))) and has_name(left, *others)
        case ast.Match(subject=subject, cases=cases):
            return asks(subject) and has_name(*(case.pattern for case in cases))
        case ast.keyword(arg="operator", value=value):
            return has_name(value)
        case ast.Dict(keys=keys, values=values):
            given = zip(keys, values, strict=True)
            return any(
                isinstance(key, ast.Constant) and key.value == "operator" and has_name(value) for key, value in given
            )
        case ast.Call(func=ast.Name(id="add_node"), args=[_, name, *_]):
            return has_name(name)
    return False


def test_no_code_compares_the_name_of_an_aggregate_function() -> None:
    """What a function is, it says itself, in `engine/aggregates/functions`; nothing else branches on its name."""
    broken = []
    for file in python_files(*FOLDERS):
        if file.is_relative_to(ROOT / "engine" / "aggregates" / "functions"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            asks = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            asks += [case.pattern for case in node.cases] if isinstance(node, ast.Match) else []
            named = {each.value for ask in asks for each in ast.walk(ask) if isinstance(each, ast.Constant)}
            if any(isinstance(each, str) and each in functions() for each in named):
                broken.append(f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}")
    assert not broken


# They make each record of one record alone, which needs no reason of their own; a sink writes what it is given.
PASS_ON = {
    "current_watermark",
    "filter",
    "processing_time",
    "project",
    "python_function",
    "sink",
    "union",
    "unnest",
    "window_assign",
}


def test_every_operator_and_source_answers_what_pages_ask() -> None:
    """ "None" is an answer as well, but a class gives it itself: nothing is silently that of another operator."""

    def is_answered(cls: type, question: str) -> bool:
        return not getattr(cls, question).__qualname__.startswith("Operator.")

    for name, cls in operators().items():
        assert is_answered(cls, "late_rule"), name
        assert is_answered(cls, "meaning") is (name not in PASS_ON), name
        assert is_answered(cls, "flink_sql") or cls.sql_function, name
    for each in (*operators().values(), *sources().values()):
        assert all(getattr(each, name) for name in ("operator", "title", "summary", "group", "role")), each
        assert each.summary.endswith(".")
