"""Find Chromium, or install it in the way that works on this machine. Without a browser the tests fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.debian import one_at_a_time

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# The pages of tests are too short-lived for optimized scripts: optimizing takes a quarter of the CPU time.
SHORT_LIVED = [*ARGUMENTS, "--js-flags=--no-turbofan --no-maglev"]

# The headless shell comes first: it draws pages without a window around them, which saves a sixth of the CPU time.
_SHELL = "chromium-headless-shell"
_NAMES = (_SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC_APPS = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)


def chromium(downloaded: Path) -> Path:
    """Return a Chromium that can be started; `downloaded` is the path of playwright's own.

    Raises: RuntimeError with the output of each way of installing it.
    """
    if found := _find(downloaded):
        return found
    with one_at_a_time():
        said = []
        for commands in _ways_to_install():
            if found := _find(downloaded):
                return found
            said.append(_run(commands))
        if found := _find(downloaded):
            return found
    msg = "there is no Chromium, and it could not be installed:\n" + "\n".join(said)
    raise RuntimeError(msg)


def _find(downloaded: Path) -> Path | None:
    on_path = (shutil.which(name) for name in _NAMES)
    candidates = [Path(path) for path in on_path if path] + [app for app in _MAC_APPS if app.exists()]
    return next(iter(candidates), downloaded if downloaded.exists() else None)


def _ways_to_install() -> list[list[list[str]]]:
    """Return the command sequences to try, in order: Debian's packages (root on Debian only), playwright's build."""
    is_root = os.geteuid() == 0
    apt = shutil.which("apt-get")
    playwright = [sys.executable, "-m", "playwright", "install", "chromium"]
    if not (is_root and apt):
        return [[playwright]]
    install = [apt, "install", "-y", "--no-install-recommends"]
    # An older Debian has no package of the shell.
    packaged = [[[apt, "update"], [*install, package]] for package in (_SHELL, "chromium")]
    downloaded = [[*playwright, "--with-deps"]]
    # Ubuntu's package of that name only points to a snap, which needs a running snapd.
    return [downloaded, *packaged] if _distribution() == "ubuntu" else [*packaged, downloaded]


def _distribution() -> str:
    release = Path("/etc/os-release")
    lines = release.read_text(encoding="utf-8").splitlines() if release.is_file() else []
    return next((line.removeprefix("ID=").strip('"') for line in lines if line.startswith("ID=")), "")


def _run(commands: list[list[str]]) -> str:
    """Run commands until one fails; return the commands, with the end of a failure's output."""
    report = []
    for command in commands:
        run = subprocess.run(
            command,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        report.append(f"$ {' '.join(command)} (status {run.returncode})")
        if run.returncode != 0:
            report.append(run.stdout[-1500:])
            break
    return "\n".join(report)
