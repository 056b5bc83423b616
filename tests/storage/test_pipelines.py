"""Saved pipelines and drafts."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage import Store
from storage.errors import UnknownPipeline


def test_every_save_of_a_changed_document_is_a_version(store: Store) -> None:
    first = store.pipelines.save("{}", name="words")
    again = store.pipelines.save("{}", name="words", pipeline_id=first.pipeline_id)
    second = store.pipelines.save('{"nodes": []}', name="words", pipeline_id=first.pipeline_id, note="empty")
    assert (first.version, again.version, second.version) == (1, 1, 2)
    assert store.pipelines.load(first.pipeline_id).document == '{"nodes": []}'
    assert store.pipelines.load(first.pipeline_id, 1).document == "{}"
    assert [saved.note for saved in store.pipelines.versions(first.pipeline_id)] == ["empty", ""]


def test_a_deleted_pipeline_can_be_restored(store: Store) -> None:
    saved = store.pipelines.save("{}", name="words")
    store.pipelines.delete(saved.pipeline_id)
    assert store.pipelines.list() == ()
    assert [gone.name for gone in store.pipelines.deleted()] == ["words"]
    store.pipelines.restore(saved.pipeline_id)
    assert [found.name for found in store.pipelines.list()] == ["words"]
    assert store.pipelines.deleted() == ()


def test_a_copy_has_a_name_and_versions_of_its_own(store: Store) -> None:
    saved = store.pipelines.save("{}", name="words")
    copy = store.pipelines.duplicate(saved.pipeline_id)
    store.pipelines.rename(copy.pipeline_id, "words again")
    assert {found.name for found in store.pipelines.list()} == {"words", "words again"}
    assert [found.name for found in store.pipelines.list(text="AGAIN")] == ["words again"]


@pytest.mark.parametrize("verb", ["load", "versions", "duplicate", "delete", "restore"])
def test_a_pipeline_that_does_not_exist_is_named(store: Store, verb: str) -> None:
    with pytest.raises(UnknownPipeline, match="there is no pipeline 7"):
        getattr(store.pipelines, verb)(7)


def test_a_version_that_does_not_exist_lists_those_that_do(store: Store) -> None:
    saved = store.pipelines.save("{}", name="words")
    with pytest.raises(UnknownPipeline, match="unknown version 3. Available: 1"):
        store.pipelines.load(saved.pipeline_id, 3)


def test_drafts_and_pipelines_survive_closing_the_store(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb") as store:
        store.pipelines.save("{}", name="words")
        store.drafts.save("session", "{1}", pipeline_id=1, version=1)
        store.drafts.save("session", "{2}", pipeline_id=1, version=1)
    with Store.open(tmp_path / "s.duckdb") as store:
        draft = store.drafts.load("session")
        assert draft is not None
        assert (draft.document, draft.pipeline_id) == ("{2}", 1)
        assert [found.name for found in store.pipelines.list()] == ["words"]
        store.drafts.delete("session")
        assert store.drafts.load("session") is None
        assert store.drafts.list() == ()
