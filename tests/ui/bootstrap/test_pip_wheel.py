"""Fetching pip itself: from pip's configured index, with its credentials, with a check of the file."""

from __future__ import annotations

import base64
import hashlib
import http.server
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import serving
from ui.bootstrap.errors import SetupError
from ui.bootstrap.pip_wheel import download_pip, pip_settings

PASSWORD = "Basic " + base64.b64encode(b"me:p@ss").decode()


class Index(http.server.BaseHTTPRequestHandler):
    """A private index with pip in an old, a new, a too new and a yanked version."""

    checksum = hashlib.sha256(b"the new pip").hexdigest()

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != PASSWORD:
            self.send_error(401)
        elif self.path == "/simple/pip/":
            self._send(
                b'<a href="../../files/pip-9.0-py3-none-any.whl">old</a>'
                b'<a href="../../files/pip-26.1.tar.gz">source</a>'
                b'<a href="../../files/pip-26.0-py3-none-any.whl#sha256=' + self.checksum.encode() + b'">new</a>'
                b'<a href="../../files/pip-99-py3-none-any.whl" data-requires-python="&gt;=4.1">too new</a>'
                b'<a href="../../files/pip-98-py3-none-any.whl" data-yanked="broken">withdrawn</a>'
            )
        elif self.path == "/files/pip-26.0-py3-none-any.whl":
            self._send(b"the new pip")
        else:
            self.send_error(404)

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_CONFIG_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
    with serving(server):
        yield f"127.0.0.1:{server.server_port}/simple"


def test_the_newest_pip_for_this_python_comes_from_the_configured_index(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:p%40ss@{address}")
    wheel = download_pip(tmp_path)
    assert (wheel.name, wheel.read_bytes()) == ("pip-26.0-py3-none-any.whl", b"the new pip")


def test_a_pip_that_fails_its_checksum_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Index, "checksum", "0" * 64)
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:p%40ss@{address}/")
    with pytest.raises(SetupError, match="does not match its checksum"):
        download_pip(tmp_path)


def test_an_index_that_refuses_is_named_without_its_password(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://me:wrong@{address}")
    with pytest.raises(SetupError, match=f"http://{address}: HTTP Error 401") as caught:
        download_pip(tmp_path)
    assert "wrong" not in str(caught.value)


def test_settings_come_from_files_and_variables_have_the_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = https://a/simple\ncert = /c\n[install]\nindex-url = https://b/simple\n")
    for name in ("PIP_INDEX_URL", "PIP_CERT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    assert pip_settings()["index-url"] == "https://b/simple"
    monkeypatch.setenv("PIP_INDEX_URL", "https://c/simple")
    assert (pip_settings()["index-url"], pip_settings()["cert"]) == ("https://c/simple", "/c")
