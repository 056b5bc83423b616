"""Find Chromium, or install it the way that works on this machine. No browser is a failure."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# No page of a test lives long enough to earn back what optimizing its scripts costs: a quarter of the CPU time.
SHORT_LIVED = [*ARGUMENTS, "--js-flags=--no-turbofan --no-maglev"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_MAC_APPS = (
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
)


def chromium(downloaded: Path) -> Path:
    """Return a Chromium that can be started; `downloaded` is where playwright would put its own.

    Raises: RuntimeError with what each way of installing it said.
    """
    if found := _find(downloaded):
        return found
    # Workers of one test run arrive here together, and apt allows only one at a time.
    with (Path(sys.prefix) / "chromium.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
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
    """Return command sequences to try in order: Debian's package for root on Debian, playwright's build."""
    is_root = os.geteuid() == 0
    apt = shutil.which("apt-get")
    playwright = [sys.executable, "-m", "playwright", "install", "chromium"]
    if not (is_root and apt):
        return [[playwright]]
    packaged = [[apt, "update"], [apt, "install", "-y", "--no-install-recommends", "chromium"]]
    downloaded = [[*playwright, "--with-deps"]]
    # Ubuntu's package of that name only points to a snap, which needs a running snapd.
    return [downloaded, packaged] if _distribution() == "ubuntu" else [packaged, downloaded]


def _distribution() -> str:
    release = Path("/etc/os-release")
    lines = release.read_text(encoding="utf-8").splitlines() if release.is_file() else []
    return next((line.removeprefix("ID=").strip('"') for line in lines if line.startswith("ID=")), "")


def _run(commands: list[list[str]]) -> str:
    """Run commands until one fails; return what was run, with the end of a failure's output."""
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
