"""The input of the engine form: an engine, or a sentence at every wrong field."""

from __future__ import annotations

import pytest

from engine.spark.engines import Engine
from ui.engines.form import Typed, read, split_address

TAKEN = ("local[2]", "Cluster")


@pytest.mark.parametrize(
    ("typed", "engine"),
    [
        (Typed("one core", " local[1] "), Engine("one core", "local[1]")),
        (Typed("local[1]", "local[1]"), Engine("local[1]", "local[1]")),
        (Typed("big", "spark://a:7077,b:7077", "/mnt/x"), Engine("big", "spark://a:7077,b:7077", "/mnt/x")),
        (Typed("far", "sc://host/;token=a%2Fb;use_ssl=true"), Engine("far", "sc://host", "", "a/b", True)),
        (Typed("far", "sc://host:9/;token=a", token="b"), Engine("far", "sc://host:9", "", "b")),
        (Typed("far", "sc://host", "s3a://b/f", use_ssl=True), Engine("far", "sc://host", "s3a://b/f", "", True)),
        (
            Typed("stays", "local[1]", "/x", changelogs_stay=True),
            Engine("stays", "local[1]", "/x", changelogs_stay=True),
        ),
        # Our own engines need neither a token nor TLS.
        (Typed("one core", "local[1]", token="a", use_ssl=True), Engine("one core", "local[1]")),
    ],
)
def test_what_is_right_is_an_engine(typed: Typed, engine: Engine) -> None:
    assert read(typed, TAKEN) == (engine, {})


@pytest.mark.parametrize(
    ("typed", "field", "sentence"),
    [
        (Typed(" ", "local[1]"), "name", "Enter a name"),
        (Typed("cluster", "local[1]"), "name", "There is an engine called cluster already."),
        (Typed("local[3]", "local[1]"), "name", "This name looks like an address"),
        (Typed("sc://h/;token=a", "sc://h"), "name", "This name looks like an address"),
        (Typed("big", ""), "address", "Enter the address of the engine."),
        (Typed("big", "yarn"), "address", "This is not the address of an engine. Write `local[2]`"),
        (Typed("big", "sc://host:port"), "address", "This is not the address of an engine."),
        (Typed("big", "sc://host/;password=a"), "address", "This is not the address of an engine."),
        (Typed("big", "https://user:pw@dbc.example.com/x"), "address", "Write `sc://dbc.example.com:443`, with TLS"),
        (Typed("big", "spark://host"), "address", "Add the port: `spark://host:7077`."),
        (Typed("big", "local[1]", "data"), "workspace", "Write an absolute path"),
        (Typed("big", "local[1]", changelogs_stay=True), "workspace", "Name the folder or URI where the changelogs"),
    ],
)
def test_what_is_wrong_is_a_sentence_at_its_field(typed: Typed, field: str, sentence: str) -> None:
    engine, complaints = read(typed, TAKEN)
    assert engine is None
    assert set(complaints) == {field}
    assert sentence in complaints[field]


def test_all_that_is_wrong_is_said_at_once_and_no_token_with_it() -> None:
    engine, complaints = read(Typed("", "http://host/;token=s3cret", "data", "s3cret"), TAKEN)
    assert engine is None
    assert set(complaints) == {"name", "address", "workspace"}
    assert "s3cret" not in str(complaints)
    assert "s3cret" not in repr(Typed("a", "b", token="s3cret"))


def test_a_token_is_kept_for_the_address_that_it_was_given_for_and_no_other() -> None:
    before = Engine("far", "sc://host:9", "", "s3cret", True)

    def token(typed: Typed) -> str:
        engine, _ = read(typed, TAKEN, before)
        assert engine is not None
        return engine.token

    assert token(Typed("renamed", "sc://host:9")) == "s3cret"
    assert token(Typed("far", "sc://host:9", token="new")) == "new"
    assert token(Typed("far", "sc://host:9", forget_token=True)) == ""
    assert token(Typed("far", "sc://other:9")) == ""
    assert token(Typed("far", "local[1]")) == ""


def test_a_pasted_address_is_split_where_there_is_something_to_split() -> None:
    assert split_address("sc://host:9/;token=a%2Fb;use_ssl=true") == ("sc://host:9", "a/b", True)
    typed = "sc://host:9/;x-databricks-cluster-id=12"
    assert split_address(f"{typed};token=a") == (typed, "a", False)
    assert split_address(typed) is None
    engine, wrong = read(Typed("cluster", typed, token="a"), [])
    assert engine is not None
    assert (engine.typed, engine.token, wrong) == (typed, "a", {})
    assert split_address("sc://host:9") is None
    assert split_address("sc://host:9/;tok") is None
