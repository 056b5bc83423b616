"""Kills a live run again and again, and checks that its changelog equals that of a bounded run.

    python -m tests.bench.bench_kills [--source files] [--target parquet] [--kills 200] [--engine-kills 10]
                                      [--minutes M] [--seed 1] [--in-process] [--broker]

Kills the process of the command line, and sometimes the JVM of its engine, at random moments while a folder grows,
rows are posted, messages arrive or a PostgreSQL table changes. The pipeline has a window, a join and a Top N
(`tests.live.killing`). With a target, sinks write to Parquet in a folder or a bucket of S3, to a PostgreSQL table or to
topics of Kafka: every epoch has to be there once in the end. Not part of the test run.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from tests.bucket_servers import s3_server
from tests.engine.sources.kafka_cluster import broker, cluster
from tests.engine.sources.postgres_server import server
from tests.live.killing import Feed, Killing, Posted, Target, Topic
from tests.live.postgres_table import Table
from tests.live.written import KafkaTopics, ParquetFolders, PostgresTables


@contextmanager
def _feed(source: str, seed: int, *, is_broker: bool) -> Iterator[Feed | None]:
    """The feed of the source; None for files."""
    match source:
        case "kafka":
            with broker("events") if is_broker else cluster() as brokers:
                yield Topic(brokers)
        case "postgres":
            with tempfile.TemporaryDirectory(prefix="kills-") as name, server(Path(name)) as running:
                yield Table(running, random.Random(seed))
        case _:
            yield Posted() if source == "posted" else None


@contextmanager
def _target(name: str | None) -> Iterator[Target | None]:
    """The target of two sinks."""
    if name == "postgres":
        with tempfile.TemporaryDirectory(prefix="kills-") as place, server(Path(place)) as running:
            yield PostgresTables(running)
        return
    if name == "kafka":
        with broker("best") as brokers:
            yield KafkaTopics(brokers.servers)
        return
    if name != "s3":
        yield ParquetFolders() if name is not None else None
        return
    with s3_server() as bucket:
        os.environ.update(bucket.environ)
        yield ParquetFolders(bucket.uri)


def main() -> int:
    """Kill the requested number of times, and compare. Returns 1 if changelogs differ or something is left behind."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_kills")
    parser.add_argument("--source", choices=["files", "posted", "kafka", "postgres"], default="files")
    parser.add_argument("--target", choices=["parquet", "s3", "postgres", "kafka"], help="where two sinks write")
    parser.add_argument("--broker", action="store_true", help="a Tansu broker in place of librdkafka's mocks")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--engine-kills", type=int, default=10, help="so many of them end the JVM")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="no kill begins later than so")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-process", action="store_true", help="without tasks of Spark, which is faster")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="kills-") as name,
        _feed(args.source, args.seed, is_broker=args.broker) as feed,
        _target(args.target) as target,
    ):
        os.environ[FOLDER_ENVIRONMENT] = str(Path(name) / "servers")
        (Path(name) / "run").mkdir()
        killing = Killing(Path(name) / "run", args.seed, "local[2]", not args.in_process, feed, target)
        began = time.monotonic()
        every = args.kills // args.engine_kills if args.engine_kills else 0
        try:
            for at in range(1, args.kills + 1):
                if time.monotonic() - began > args.minutes * 60:
                    break
                killing.kill(killing.chance.uniform(0, 4), server=bool(every) and at % every == 0)
                sys.stdout.write(f"kill {at} of {args.kills}, after {time.monotonic() - began:.0f} s\n")
                sys.stdout.flush()
            killing.end()
            different = killing.differences()
            if isinstance(feed, Table) and not feed.says(killing.records("events")):
                different.append("the changes of the table")
            different += killing.leftovers()
        finally:
            for server in servers():
                server.close(20)
    same = "the changelog is that of a bounded run, and nothing is left behind"
    said = f"different: {', '.join(different)}" if different else same
    sys.stdout.write(f"seed {args.seed}: {killing.kills} kills; {said}\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
