"""A live run on a PostgreSQL table: each change counts once, even if commits fail."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from engine.contract.live import Begun
from engine.live_runs.external_resources import let_go
from engine.model.pipeline import Pipeline
from tests.engine.runtime.test_live import Fed, run_live
from tests.engine.sources.postgres_server import Server, server


def pipeline(port: int) -> Pipeline:
    """The number of users per town, and the sum of their debts."""
    users = {
        **{"host": "127.0.0.1", "port": port, "database": "postgres", "user": "studio"},
        **{"table_name": "users", "slot": "studio"},
        "columns": [
            {"name": "id", "type": "bigint"},
            {"name": "town", "type": "string"},
            {"name": "debt", "type": "decimal(10,2)"},
        ],
    }
    calls = [{"function": "COUNT", "name": "n"}, {"function": "SUM", "argument": "debt", "name": "total"}]
    nodes = [
        {"id": "users", "operator": "postgres_cdc", "parameters": users},
        {"id": "towns", "operator": "aggregate", "parameters": {"group_by": ["town"], "aggregates": calls}},
    ]
    return Pipeline.from_dict({"nodes": nodes, "edges": [{"source": "users", "target": "towns"}]})


def change(running: Server, chance: random.Random) -> None:
    """Run some transactions of several changes each."""
    with running.connect() as connection:
        connection.autocommit = False
        for _ in range(3):
            for _ in range(chance.randrange(1, 4)):
                number, town = chance.randrange(12), chance.choice("xyz")
                statement = chance.choice(
                    [
                        f"INSERT INTO users VALUES ({number}, '{town}', {number}.25) ON CONFLICT (id) DO NOTHING",
                        f"UPDATE users SET town = '{town}', debt = debt + 1 WHERE id = {number}",
                        f"DELETE FROM users WHERE id = {number}",
                    ]
                )
                connection.execute(statement.encode())
            connection.commit() if chance.random() < 0.8 else connection.rollback()


def test_what_comes_out_is_what_the_table_says(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(5)
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as running:
        running.run(
            "CREATE TABLE users (id bigint PRIMARY KEY, town text, debt numeric(10,2))",
            "ALTER TABLE users REPLICA IDENTITY FULL",
            "INSERT INTO users SELECT n, 'x', n FROM generate_series(0, 9) AS n",
        )
        rounds = 5

        def feed() -> bool:
            nonlocal rounds
            rounds -= 1
            if rounds >= 0:
                # The transactions may change nothing: without this row there would be no epoch, and so no further call.
                running.run(f"INSERT INTO users VALUES (100 + {rounds}, 'z', 1)")
                change(running, chance)
            return rounds >= 0

        recorder = Fed(feed, lost=frozenset({0, 1, 3}))
        document = pipeline(running.port)
        run_live(document, spark, tmp_path, tmp_path / "state", recorder, attempts=4)
        expected = running.run("SELECT town, count(*), sum(debt) FROM users GROUP BY town")
        assert recorder.checkpoint is not None
        assert len(recorder.decisions) > 4
        assert recorder.table("towns") == set(expected)
        assert let_go(document.to_json(), Begun(str(tmp_path), checkpoint=recorder.checkpoint.to_json())) == []
        assert running.run("SELECT count(*) FROM pg_replication_slots") == [(0,)]
        assert not (tmp_path / recorder.checkpoint.positions["users"]["kept"]).exists()
