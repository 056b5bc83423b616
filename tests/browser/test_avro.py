"""Avro in the browser: a script over a topic with a registry of schemas is opened and run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import node, run
from tests.engine.sources.kafka_cluster import cluster
from tests.engine.sources.schema_registry import schema_registry

OPENS_MS = 60_000
RUN_MS = 180_000
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "note", "type": ["null", "string"]},
    ],
}
SCRIPT = """CREATE TABLE orders (id BIGINT, note STRING) WITH (
  'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = '{servers}',
  'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset',
  'format' = 'avro-confluent', 'avro-confluent.url' = '{registry}'
);
SELECT id, note FROM orders;
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running_app(tmp_path_factory.mktemp("app"), "local[2]") as running:
        yield running


def opened(page: Page, file: Path) -> None:
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(file)
    page.wait_for_url("**/build?**", timeout=OPENS_MS)


def test_a_topic_is_read_with_the_schemas_of_a_registry(page: Page, tmp_path: Path) -> None:
    with cluster() as brokers, schema_registry() as registry:
        number = registry.add(ORDER)
        brokers.send("orders", *(registry.message(number, {"id": at, "placed": at, "note": "ä"}) for at in range(3)))
        brokers.send("orders", b"{}")
        file = tmp_path / "orders.sql"
        file.write_text(SCRIPT.format(servers=brokers.servers, registry=registry.url))
        opened(page, file)
        expect(node(page, "orders")).to_be_visible(timeout=OPENS_MS)
        run(page)
        expect(node(page, "orders")).to_contain_text("1 rejected", timeout=RUN_MS)
        expect(node(page, "result")).to_contain_text("3 in", timeout=RUN_MS)
