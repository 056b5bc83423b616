"""The SQL Gateway on the page Engines: named, tested, preferred, removed; its token is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from engine.flink.environment import ENVIRONMENT
from engine.flink.places import Named, ThroughGateway, named, place
from storage import Store
from tests.engine.flink.gateway_server import GatewayServer, served
from tests.ui.conftest import OpenView

TOKEN = "s3cret-token"


def texts(app: AppTest) -> str:
    shown = (*app.markdown, *app.caption, *app.error, *app.success)
    return "\n".join(str(each.value) for each in shown)


def test_a_gateway_is_named_tested_preferred_and_removed(
    store: Store, open_view: OpenView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, "/opt/flink/bin/python")
    app = open_view("engines")
    app.button(key="gateway-add").click().run()
    app.text_input(key="gateway-address").set_value("http://gateway:8083")
    app.text_input(key="gateway-token").set_value(TOKEN)
    app.button(key="gateway-save").click().run()
    assert "with TLS only" in texts(app)
    assert named() is None
    with served(GatewayServer(token=TOKEN)) as address:
        app.text_input(key="gateway-address").set_value(address)
        app.text_input(key="gateway-token").set_value(TOKEN)
        app.button(key="gateway-save").click().run()
        assert "Flink 2.3.0 answers." in texts(app)
    assert named() == Named(address, TOKEN)
    assert TOKEN not in texts(app)
    app.button(key="gateway-test").click().run()
    assert "cannot be reached" in texts(app)
    assert isinstance(place(Path()), ThroughGateway)
    app.radio(key="gateway-asked").set_value("The installed Flink").run()
    assert not isinstance(place(Path()), ThroughGateway)
    # Another address does not get the token of this one.
    app.button(key="gateway-change").click().run()
    app.text_input(key="gateway-address").set_value("http://127.0.0.1:9")
    app.button(key="gateway-save").click().run()
    assert named() == Named("http://127.0.0.1:9")
    monkeypatch.delenv(ENVIRONMENT)
    assert "through a SQL Gateway" in texts(open_view("engines"))
    app.button(key="gateway-remove").click().run()
    assert named() is None
    assert not app.exception
