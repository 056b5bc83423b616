"""The glossary: each term is told once, in whole sentences, and each picture can be drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter

import pytest

from engine.model.changelog import SYMBOLS
from ui.components.glossary import html
from ui.components.glossary.terms import GLOSSARY, Term

TERMS = [term for terms in GLOSSARY.values() for term in terms]
each_term = pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)


def test_a_word_stands_for_one_term() -> None:
    words = Counter(word.lower() for term in TERMS for word in (term.name, *term.words))
    assert [word for word, times in words.items() if times > 1] == []


def test_every_kind_is_a_term() -> None:
    assert set(SYMBOLS) <= {term.name for term in TERMS}


@each_term
def test_a_meaning_is_of_sentences_and_short_enough_to_hover(term: Term) -> None:
    assert term.meaning.endswith(".")
    assert 20 < len(term.meaning) <= 260


@each_term
def test_a_picture_is_well_formed_and_left_out_by_screen_readers(term: Term) -> None:
    if term.picture:
        assert ET.fromstring(term.picture).get("aria-hidden") == "true"


def test_the_list_has_every_meaning() -> None:
    listed = html()
    assert all(f"<h4>{term.name}</h4>" in listed for term in TERMS)
