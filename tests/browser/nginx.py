"""nginx with the configuration of ui/SERVING.md, unchanged except for ports and files."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.app_server import ROOT
from tests.debian import install
from tests.serving import free_port

NAME = "studio.example.com"
_ALSO = "/usr/sbin:/usr/local/sbin:/opt/homebrew/bin"
_NOBODY = 'proxy_set_header X-Forwarded-User "";'
_START_TIMEOUT_S = 30


def documented(containing: str) -> str:
    """The only indented block of ui/SERVING.md that contains this text."""
    page = (ROOT / "ui" / "SERVING.md").read_text()
    blocks = re.findall(r"(?:^(?: {4}.*)?\n)+", page, re.MULTILINE)
    (found,) = [block for block in blocks if containing in block]
    return textwrap.dedent(found)


@contextlib.contextmanager
def running_nginx(folder: Path, app_url: str, passwords: str = "") -> Iterator[int]:
    """Run nginx as the proxy of an app; yields its port. passwords: htpasswd lines of the users that nginx logs in."""
    install("nginx-light", unless=lambda: _program() is not None)
    program = _program()
    if program is None:
        pytest.skip("there is no nginx here, and Debian's package nginx-light cannot be installed")
    folder.mkdir()
    port = free_port()
    _certify(folder)
    site = documented("map $http_upgrade")
    if passwords:
        (folder / "htpasswd").write_text(passwords)
        site = _replaced(site, _NOBODY, documented("auth_basic_user_file"))
        site = _replaced(site, "/etc/studio/htpasswd", str(folder / "htpasswd"))
    site = _replaced(site, "listen 443 ssl", f"listen 127.0.0.1:{port} ssl")
    site = _replaced(site, "http://127.0.0.1:8501", app_url)
    for file in ("studio.pem", "studio.key"):
        site = re.sub(rf"/etc/ssl/(?:private/)?{file}", str(folder / file), site)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"{user} daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off; {temporary}\n{site}\n}}\n"
    )
    process = subprocess.Popen([program, "-e", f"{folder}/error.log", "-c", str(configuration)])
    try:
        _wait_until_it_listens(process, port)
        yield port
    finally:
        process.terminate()
        process.wait(_START_TIMEOUT_S)


def _program() -> str | None:
    return shutil.which("nginx", path=os.pathsep.join([os.environ.get("PATH", ""), _ALSO]))


def _replaced(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, f"ui/SERVING.md has {old!r} {text.count(old)} times"
    return text.replace(old, new)


def _certify(folder: Path) -> None:
    made = f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={NAME} -addext subjectAltName=DNS:{NAME}"
    files = ["-keyout", str(folder / "studio.key"), "-out", str(folder / "studio.pem")]
    subprocess.run([*made.split(), *files], check=True, capture_output=True)


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    msg = f"nginx did not start, exit code {process.poll()}"
    raise RuntimeError(msg)
