"""Folders and URI prefixes that may be read, and ways out of them."""

from __future__ import annotations

import pytest

from engine.reading.files.named_folders import ENVIRONMENT, may_be_read

PLACES = "/data/in, https://data.example.com/in/, https://whole.example.com, s3a://bucket/in, abfss://c@a.net/in"
# Read in more than one way: they name nothing, and the others are found.
PLACES += ", s3a://odd/%ff, s3a://odd/a/.."

INSIDE = [
    "https://data.example.com/in/x.csv",
    "https://data.example.com/in/a%20b.csv",
    "https://data.example.com/in/100%25.csv",
    "https://data.example.com/in/x..y/..z.csv?as=csv",
    "https://data.example.com/in/deep%2Fdown.csv",
    "HTTPS://Data.Example.com/in/x.csv",
    "https://whole.example.com/x.csv",
    "https://whole.example.com",
    "s3a://bucket/in",
    "s3a://bucket/in/x.csv",
    "s3a://bucket/in/*/[ab]*.csv",
    "s3a://bucket/%69n/x.csv",
    "abfss://c@a.net/in/x.csv",
]

OUTSIDE = [
    "https://data.example.com/in/../x",
    "https://data.example.com/in/%2e%2e/x",
    "https://data.example.com/in/..%2fx",
    "https://data.example.com/in/%252e%252e/x",
    "https://data.example.com/in/%25252e%25252e%25252fx",
    "https://data.example.com/in/.%2E/x",
    "https://data.example.com/in/..%5cx",
    "https://data.example.com/in/..\\x",
    "https://data.example.com/in/..;/x",
    "https://data.example.com/in/..;a=b/x",
    "https://data.example.com/in/..%3b/x",
    "https://data.example.com/in/..%00/x",
    "https://data.example.com/in/%c0%ae%c0%ae/x",
    "https://data.example.com/in/%ef%bc%8e%ef%bc%8e/x",
    "https://data.example.com/in/%e2%80%a5/x",
    "https://data.example.com/in/..%ef%bc%8fx",
    "https://data.example.com/in/..%20/x",
    "https://data.example.com/in/..",
    "https://data.example.com/in/%2e%2e",
    "https://data.example.com/input/x",
    "https://data.example.com/in%2f..%2fx",
    "https://data.example.com/in/./x",
    "https://data.example.com/in/?file=/../x",
    "https://data.example.com:8443/in/x",
    "https://ada@data.example.com/in/x",
    "https://data.example.com%2fin/x",
    "https://data.example.com.evil.example/in/x",
    "http://data.example.com/in/x",
    "https://whole.example.com.evil.example/",
    "s3a://bucket/in/%2e%2e/",
    "s3a://bucket/in/../x",
    "s3a://bucket/in/..%2f",
    "s3a://bucket/input/x",
    "s3://bucket/in/x",
    "s3a://bucket%2fin/x",
    "s3a://bucket/in/x?endpoint_override=127.0.0.1:9000",
    "s3a://bucket/in/x#y",
    "s3a://Bucket2/in/x",
    "s3a://odd/x",
    "s3a://odd/a/x",
    "abfss://c@b.net/in/x",
    "abfss://d@a.net/in/x",
    "file:///data/in/x",
    "hdfs://data/in/x",
    "https://data.example.com/in/.. /x",
    "https://data.example.com/in/\udc80/x",
]


@pytest.mark.parametrize("uri", INSIDE)
def test_what_is_in_a_named_place_is_read(uri: str) -> None:
    assert may_be_read(uri, {ENVIRONMENT: PLACES})


@pytest.mark.parametrize("uri", OUTSIDE)
def test_no_spelling_leads_out_of_a_named_place(uri: str) -> None:
    assert not may_be_read(uri, {ENVIRONMENT: PLACES})
    assert may_be_read(uri, {})


def test_a_place_without_a_host_is_the_whole_web() -> None:
    assert may_be_read("https://any.example/x.csv", {ENVIRONMENT: "https://"})
    assert not may_be_read("http://any.example/x.csv", {ENVIRONMENT: "https://"})
    assert not may_be_read("s3a://bucket/x.csv", {ENVIRONMENT: "https://"})
