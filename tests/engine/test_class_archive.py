"""The class archive makes a start faster if it fits, and never prevents a start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest

from engine.spark.class_archive import ENVIRONMENT, ClassArchive, class_archive
from tests.python_child import run_python

ROOT = Path(__file__).resolve().parents[2]


def java_home(folder: Path, version: str = "17.0.15") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return folder


def found(java: Path, cache: Path, *flags: str, **environ: str) -> ClassArchive:
    archive = class_archive(java, flags, cache, environ)
    assert archive is not None
    return archive


def test_its_name_follows_the_java_the_jars_and_the_flags(tmp_path: Path) -> None:
    java = java_home(tmp_path / "java")
    first = found(java, tmp_path, "-Xmx4g")
    assert found(java, tmp_path, "-Xmx4g") == first
    assert found(java, tmp_path, "-Xmx8g").path != first.path
    assert found(java_home(tmp_path / "other"), tmp_path, "-Xmx4g").path != first.path
    java_home(java, "17.0.16")
    assert found(java, tmp_path, "-Xmx4g").path != first.path


@pytest.mark.parametrize(
    ("version", "reads", "writes"),
    [
        ("17.0.15", "-XX:SharedArchiveFile=", "-XX:ArchiveClassesAtExit="),
        ("24.0.1", "-XX:SharedArchiveFile=", "-XX:ArchiveClassesAtExit="),
        ("25", "-XX:AOTCache=", "-XX:AOTCacheOutput="),
    ],
)
def test_each_java_has_its_own_kind(tmp_path: Path, version: str, reads: str, writes: str) -> None:
    archive = found(java_home(tmp_path / "java", version), tmp_path)
    archive.path.touch()
    assert archive.to_read() == [f"{reads}{archive.path}"]
    assert archive.to_write(tmp_path / "draft") == [f"{writes}{tmp_path / 'draft'}"]


def test_one_that_is_not_there_gives_no_option(tmp_path: Path) -> None:
    assert found(java_home(tmp_path / "java"), tmp_path / "none").to_read() == []


@pytest.mark.parametrize("word", ["off", "OFF", "0", "false"])
def test_a_variable_switches_it_off(tmp_path: Path, word: str) -> None:
    assert class_archive(java_home(tmp_path), (), tmp_path, {ENVIRONMENT: word}) is None


def test_a_variable_says_where_it_is(tmp_path: Path) -> None:
    archive = found(java_home(tmp_path / "java"), tmp_path, **{ENVIRONMENT: str(tmp_path / "there")})
    assert archive.path.parent == tmp_path / "there"


def test_a_java_that_does_not_say_what_it_is_has_none(tmp_path: Path) -> None:
    assert class_archive(tmp_path, (), tmp_path, {}) is None


def test_it_is_wanted_until_it_is_there_or_failed_lately(tmp_path: Path) -> None:
    archive = found(java_home(tmp_path / "java"), tmp_path / "cache" / "changelog-studio")
    assert archive.is_wanted()
    with archive.draft() as draft:
        assert draft is not None
        draft.write_text("classes")
        archive.adopt(draft)
    assert archive.path.read_text() == "classes"
    assert not archive.is_wanted()
    archive.discard()
    assert not archive.path.exists()
    assert not archive.is_wanted()
    note = archive.path.with_suffix(".failed")
    os.utime(note, (0, time.time() - 8 * 24 * 3600))
    assert archive.is_wanted()


def test_it_is_not_wanted_where_its_folder_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not found(java_home(tmp_path / "java"), tmp_path / "file" / "changelog-studio").is_wanted()


def test_one_process_at_a_time_makes_it_and_leaves_no_draft(tmp_path: Path) -> None:
    archive = found(java_home(tmp_path / "java"), tmp_path / "cache")
    with archive.draft() as mine, archive.draft() as other:
        assert mine is not None
        assert other is None
        mine.write_text("half")
        mine.with_name(f"{mine.name}.config").write_text("Java 25 writes this first")
    assert [file.suffix for file in archive.path.parent.iterdir()] == [".lock"]


def test_the_one_used_last_stays_beside_a_new_one(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    for age_s, name in enumerate(["classes-recent.archive", "classes-old.archive", "classes-older.archive"], start=1):
        (cache / name).touch()
        os.utime(cache / name, (0, time.time() - 3600 * age_s))
    archive = found(java_home(tmp_path / "java"), cache)
    with archive.draft() as draft:
        assert draft is not None
        draft.touch()
        archive.adopt(draft)
    assert {file.name for file in cache.glob("*.archive")} == {archive.path.name, "classes-recent.archive"}


START = """
import subprocess
from engine.spark import servers, session
archive = servers.archive()
{before}
spark = session.get_spark("local[1]")
server = session.server_of(spark)
given = subprocess.run(["ps", "-ww", "-o", "args=", "-p", str(server.jvm)], capture_output=True, text=True).stdout
print(spark.version, str(archive.path) in given)
server.close(20)
"""


def environ(cache: Path, **own: str) -> dict[str, str]:
    """The environment of a user with this cache folder, and without another folder for the archive."""
    own = {"XDG_CACHE_HOME": str(cache), "CHANGELOG_STUDIO_SERVERS": str(cache / "servers")} | own
    return {name: value for name, value in os.environ.items() if name != ENVIRONMENT} | own


def started(environment: dict[str, str], before: str = "") -> str:
    """Start Spark in a process of its own, and return its standard error. Fails if Spark does not work."""
    answer = run_python(START.format(before=before), environment, limit_s=900)
    assert answer.stdout.split() == [pyspark.__version__, "True"], answer.stderr
    return answer.stderr


@pytest.mark.slow
def test_spark_starts_where_the_archive_is_broken(tmp_path: Path) -> None:
    started(environ(tmp_path), 'archive.path.parent.mkdir(); archive.path.write_text("no archive")')


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The folder with an archive: that of the whole suite, or one built here if the suite has none."""
    of_the_suite = Path(os.environ.get(ENVIRONMENT, "off"))
    if of_the_suite.is_absolute():
        end = time.monotonic() + 900
        while not list(of_the_suite.glob("*.archive")):
            assert time.monotonic() < end, f"the suite's archive was not made: {list(of_the_suite.iterdir())}"
            time.sleep(0.5)
        return of_the_suite
    # The open pipe represents the app: the process would end if it was closed.
    making = subprocess.Popen(
        [sys.executable, "-m", "engine.runtime.archiving", "0"], env=environ(tmp_path), cwd=ROOT, stdin=subprocess.PIPE
    )
    assert making.wait(900) == 0
    assert making.stdin is not None
    making.stdin.close()
    return tmp_path / "changelog-studio"


@pytest.mark.slow
def test_one_is_made_and_used_and_nothing_of_it_is_printed(made: Path, tmp_path: Path) -> None:
    assert [file.suffix for file in sorted(made.glob("classes-*"))] == [".archive", ".lock"]
    assert started(environ(tmp_path, **{ENVIRONMENT: str(made)})) == ""
