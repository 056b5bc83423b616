"""Engines by name and by address: their file is private to the user, and tokens are never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import EngineUnavailable
from engine.spark.engines import Engine, engine_at, engine_called, engines, engines_file, remove_engine, save_engine


@pytest.fixture(autouse=True)
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


@pytest.mark.parametrize("address", ["local", "local[2]", "local[*]", "local[4,3]", "spark://host:7077"])
def test_some_addresses_are_engines_whose_server_is_ours(address: str) -> None:
    assert engine_at(address) == Engine(address, address)
    assert engine_at(address).is_ours


def test_the_token_is_taken_out_of_an_address_and_shown_nowhere() -> None:
    engine = engine_at(" sc://spark.example:443/;token=a%3Db;use_ssl=true;x-databricks-cluster-id=12 ")
    assert (engine.name, engine.address) == ("sc://spark.example:443", "sc://spark.example:443")
    assert (engine.token, engine.use_ssl, engine.options) == ("a=b", True, "x-databricks-cluster-id=12")
    assert "a=b" not in repr(engine)
    assert not engine.is_ours
    assert engine.url.startswith("sc://spark.example:443/;token=a%3Db;use_ssl=true;x-databricks-cluster-id=12;")


@pytest.mark.parametrize(
    "address",
    [
        "",
        "yarn",
        "local[x]",
        "https://host",
        "sc://",
        "sc://host:port",
        "sc://host/path",
        "sc://host/;token",
        "sc://h/;session_id=1",
    ],
)
def test_other_addresses_are_a_sentence(address: str) -> None:
    with pytest.raises(EngineUnavailable, match="is not an engine: write local"):
        engine_at(address)


def test_they_are_kept_by_name_for_this_user_only() -> None:
    assert engines() == {}
    far = Engine("far", "sc://host:1", "/work", "secret", True)
    save_engine(far)
    save_engine(Engine("near", "local[1]"))
    assert engines() == {"far": far, "near": Engine("near", "local[1]")}
    assert engine_called("far") == far
    assert engine_called("local[2]") == Engine("local[2]", "local[2]")
    assert engines_file().stat().st_mode & 0o077 == 0
    save_engine(Engine("far", "sc://other:1"))
    remove_engine("near")
    assert engines() == {"far": Engine("far", "sc://other:1")}


@pytest.mark.parametrize("text", ["{", "{}", '[{"name": "a"}]', "[1]"])
def test_a_broken_file_is_a_sentence(text: str) -> None:
    engines_file().parent.mkdir(parents=True)
    engines_file().write_text(text)
    if text == "{}":
        assert engines() == {}
        return
    with pytest.raises(EngineUnavailable, match="cannot be read"):
        engines()


def test_a_workspace_is_shown_without_its_keys() -> None:
    def shown(workspace: str) -> str:
        return Engine("far", "sc://host:1", workspace).shown_workspace

    assert shown("/mnt/shared") == "/mnt/shared"
    assert shown("s3://key:secret@bucket/studio") == "s3://…@bucket/studio"
    assert shown("gs://bucket/studio?token=abc") == "gs://bucket/studio?…"
