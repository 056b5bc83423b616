"""Buckets of object stores, opened with PyArrow, whose wheels have the clients.

    s3://BUCKET/KEY (s3a, s3n)                            AWS_ENDPOINT_URL for another service than Amazon's
    gs://BUCKET/KEY (gcs)                                 STORAGE_EMULATOR_HOST for a stand-in, without credentials
    abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/KEY    AZURE_STORAGE_SERVICE_ENDPOINT for another service than Azure

Credentials come from the environment of whoever reads, the app or an engine's workers, as for each store's own tools.
A URI has no query: what it sets would not reach the workers, and some settings end the process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from engine.reading.files.in_time import FACTS_S, InTime, within

# A client gives up a little earlier than whoever waits for it, where it can be told to, and knows more of the reason.
_CONNECT_S: Final = 3.0
_ANSWER_S: Final = 5.0
_RETRIES_S: Final = 8
_ATTEMPTS: Final = 3


class BucketError(OSError):
    """A bucket, or an object in it, that cannot be read or written: the sentence says what to do."""


class BucketAway(BucketError):
    """A bucket whose store does not answer, or not properly; it may come back."""


class _Store(NamedTuple):
    """A kind of object store. renew: the credentials to set."""

    title: str
    renew: str
    open: Callable[[Any, Mapping[str, str]], tuple[Any, str]]


def _s3(address: Any, environ: Mapping[str, str]) -> tuple[Any, str]:
    from pyarrow.fs import AwsStandardS3RetryStrategy, S3FileSystem

    options: dict[str, Any] = {}
    if address.username:
        options |= {"access_key": unquote(address.username), "secret_key": unquote(address.password or "")}
    if endpoint := environ.get("AWS_ENDPOINT_URL_S3") or environ.get("AWS_ENDPOINT_URL"):
        options |= _endpoint(endpoint, "AWS_ENDPOINT_URL")
    if region := environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"):
        options["region"] = region
    system = S3FileSystem(
        connect_timeout=_CONNECT_S,
        request_timeout=_ANSWER_S,
        retry_strategy=AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS),
        **options,
    )
    return system, address.netloc.rpartition("@")[2]


def _gcs(address: Any, environ: Mapping[str, str]) -> tuple[Any, str]:
    from pyarrow.fs import GcsFileSystem

    options: dict[str, Any] = {"retry_time_limit": timedelta(seconds=_RETRIES_S)}
    if endpoint := environ.get("STORAGE_EMULATOR_HOST"):
        options |= {**_endpoint(endpoint, "STORAGE_EMULATOR_HOST"), "anonymous": True}
    return GcsFileSystem(**options), address.netloc.rpartition("@")[2]


def _azure(address: Any, environ: Mapping[str, str]) -> tuple[Any, str]:
    from pyarrow.fs import AzureFileSystem

    container, _, host = address.netloc.rpartition("@")
    if not container:
        message = f"{address.geturl()} has no container: write abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER."
        raise BucketError(message)
    options: dict[str, Any] = {}
    if key := environ.get("AZURE_STORAGE_KEY"):
        options["account_key"] = key
    elif token := environ.get("AZURE_STORAGE_SAS_TOKEN"):
        options["sas_token"] = token
    account, _, domain = host.partition(".")
    if endpoint := environ.get("AZURE_STORAGE_SERVICE_ENDPOINT"):
        at = _endpoint(endpoint, "AZURE_STORAGE_SERVICE_ENDPOINT")
        if at["scheme"] == "http" and not options:
            message = (
                "AZURE_STORAGE_SERVICE_ENDPOINT begins with http://, where only a key or a signature is sent: set "
                "AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN."
            )
            raise BucketError(message)
        for part in ("blob", "dfs"):
            options |= {f"{part}_storage_authority": at["endpoint_override"], f"{part}_storage_scheme": at["scheme"]}
    elif domain and domain != "dfs.core.windows.net":
        service = domain.partition(".")[2]
        options |= {"blob_storage_authority": f".blob.{service}", "dfs_storage_authority": f".dfs.{service}"}
    return AzureFileSystem(account, **options), unquote(container)


_STORES: Final = {
    **dict.fromkeys(("s3", "s3a", "s3n"), _Store("S3", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", _s3)),
    **dict.fromkeys(("gs", "gcs"), _Store("Google Cloud Storage", "GOOGLE_APPLICATION_CREDENTIALS", _gcs)),
    **dict.fromkeys(("abfs", "abfss"), _Store("Azure", "AZURE_STORAGE_KEY or AZURE_STORAGE_SAS_TOKEN", _azure)),
}
SCHEMES: Final = tuple(_STORES)
"""Of their URIs."""
_UNREACHED: Final = (
    "{title} cannot be reached, or broke the connection; check the network and the address, and try again"
)
_UNANSWERED: Final = "{title} did not answer properly; try again later"
_AWAY: Final = (_UNREACHED, _UNANSWERED)
# What the clients say, with its meaning: the first that fits.
_MEANINGS: Final = (
    (
        r"Expired|token (has|is) expired|Signature not valid in the specified time",
        "the credentials have expired; renew {renew}",
    ),
    (
        r"DefaultAzureCredential|OAuth2 access token|NoCredential|AuthorizationHeaderMalformed",
        "there are no credentials for {title}; set {renew}",
    ),
    (
        r"INVALID_ACCESS_KEY_ID|InvalidAccessKeyId|SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|INVALID_CLIENT_TOKEN_ID"
        r"|InvalidClientTokenId|AuthorizationFailure|AuthenticationFailed|NoAuthenticationInformation|UNAUTHENTICATED|\b401\b",
        "{title} does not accept the credentials; check or renew {renew}",
    ),
    (r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|bucket does not exist", "there is no such bucket; check its name"),
    (
        r"QuotaExceeded|\b507\b|Insufficient ?Storage|StorageFull|XMinioStorageFull|\b413\b",
        "the bucket is full; delete what is no longer needed, or choose another bucket",
    ),
    (
        r"ACCESS_DENIED|AccessDenied|\b403\b|PERMISSION_DENIED|AuthorizationPermissionMismatch|Forbidden",
        "{title} forbids it; allow it to the owner of the credentials, or check {renew}",
    ),
    (
        r"NETWORK_CONNECTION|curlCode|CURL error|new connection|Connection (was )?(closed|reset)|resolve host"
        r"|timed? ?out|USER_CANCELLED",
        _UNREACHED,
    ),
    (
        r"SLOW_DOWN|SlowDown|\b429\b|Too Many Requests|\b50[0-4]\b|Unavailable|ServerBusy|Internal",
        _UNANSWERED,
    ),
    (
        r"does not exist|NOT_FOUND|Not Found|\b404\b|No such file",
        "it is no longer there; write it again, or list the files anew",
    ),
)


def is_bucket(uri: str) -> bool:
    """Whether a path is in an object store."""
    return uri.partition("://")[0].lower() in _STORES and "://" in uri


def open_bucket(uri: str, environ: Mapping[str, str] = os.environ) -> tuple[Any, str]:
    """PyArrow's file system of a URI, whose calls end in time, and the path in it: bucket/key. Raises BucketError."""
    address = urlsplit(uri, allow_fragments=False)
    if "?" in uri:
        message = (
            f"{uri.partition('?')[0]}?… has settings after a question mark. Set them in the environment instead, such "
            "as AWS_ENDPOINT_URL and AWS_REGION."
        )
        raise BucketError(message)
    with told(uri):
        # A client of S3 is made after the running requests of others.
        system, bucket = within(FACTS_S, partial(_STORES[address.scheme].open, address, environ))
    if not bucket:
        message = f"{uri} has no bucket: write {address.scheme}://BUCKET/FOLDER."
        raise BucketError(message)
    key = unquote(address.path).strip("/")
    return InTime(system), f"{bucket}/{key}" if key else bucket


@contextmanager
def told(uri: str) -> Iterator[None]:
    """Raise BucketError with a sentence about this object for what its store says."""
    try:
        yield
    except BucketError:
        raise
    except (OSError, pa.ArrowException) as error:
        if not is_bucket(uri):
            raise
        reason, is_away = _meaning(uri, _reason(uri, str(error)))
        message = f"{without_secret(uri)}: {reason}."
        raise (BucketAway if is_away else BucketError)(message) from error


def without_secret(uri: str) -> str:
    """The URI without the key and secret that it may have."""
    return re.sub(r"^(s3[an]?://)[^/@]*@", r"\1", uri)


def _reason(uri: str, said: str) -> str:
    """What the store says. S3 gives no reason where it was asked about one object: a listing is refused with one."""
    if "No response body" not in said:
        return said
    from pyarrow.fs import FileSelector

    try:
        system, inside = open_bucket(uri)
        system.get_file_info(FileSelector(inside, allow_not_found=True))
    except (OSError, pa.ArrowException) as error:
        return str(error)
    return said


def _meaning(uri: str, said: str) -> tuple[str, bool]:
    """What an answer means, and whether the store may answer otherwise later."""
    store = _STORES[uri.partition("://")[0].lower()]
    for sign, meaning in _MEANINGS:
        if re.search(sign, said, re.IGNORECASE):
            return meaning.format(title=store.title, renew=store.renew), meaning in _AWAY
    return re.sub(r"\s+", " ", said)[:300].rstrip(". "), False


def _endpoint(url: str, variable: str) -> dict[str, str]:
    address = urlsplit(url if "://" in url else f"http://{url}")
    if address.scheme not in ("http", "https") or not address.netloc:
        message = f"{variable} is not an address such as https://s3.example.com: {url[:80]!r}."
        raise BucketError(message)
    return {"endpoint_override": address.netloc, "scheme": address.scheme}
