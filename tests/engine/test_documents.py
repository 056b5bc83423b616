"""A pipeline document is equal to itself after it was written and read, whatever its parameters are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.model.pipeline import Node, Pipeline
from engine.registry import operators, sources

EVERYTHING: dict[str, type[Operator] | type[Source]] = {**sources(), **operators()}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


def read_again(node: Node) -> Node:
    pipeline = Pipeline(nodes=(node,))
    again = Pipeline.from_json(pipeline.to_json())
    assert again == pipeline
    return again.nodes[0]


@pytest.mark.parametrize("name", EVERYTHING)
@given(data=st.data())
def test_a_document_that_was_written_and_read_is_equal(name: str, data: st.DataObject) -> None:
    fields = sorted(EVERYTHING[name].model_fields)
    some = st.dictionaries(st.sampled_from(fields), VALUES, max_size=3) if fields else st.just({})
    given_: dict[str, Any] = data.draw(some)
    node = Node(id="n", operator=name, parameters=given_)
    # An edit on the canvas makes the same node as the form of a new one.
    assert read_again(node) == node == Node(id="n", operator=name).with_parameters(given_)


@pytest.mark.parametrize("name", EVERYTHING)
def test_the_defaults_of_a_form_are_equal_after_they_were_written_and_read(name: str) -> None:
    defaults = EVERYTHING[name].model_construct().model_dump()
    read_again(Node(id="n", operator=name, parameters=defaults))


def test_an_exported_document_has_the_identity_of_its_pipeline_and_any_other_is_silent_about_it() -> None:
    assert "identity" not in Pipeline().to_json()
    exported = Pipeline(identity="a1b2").to_json()
    assert Pipeline.from_json(exported).identity == "a1b2"
