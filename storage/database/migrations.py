"""The catalog's tables, as numbered steps. All missing steps, and the notes that they ran, are one transaction.

Tables of a run are not here: every run has a schema of its own (`storage.database.tables`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import duckdb

from storage.database.connection import NOW, Cursor, Database
from storage.database.late_migration import tell_dropped_from_used
from storage.errors import StoreForeign, StoreTooNew

CATALOG: Final = f"""
CREATE SEQUENCE pipeline_ids;
CREATE TABLE pipelines (
    pipeline_id BIGINT PRIMARY KEY DEFAULT nextval('pipeline_ids'),
    name VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL DEFAULT {NOW},
    deleted_at TIMESTAMP
);
CREATE TABLE pipeline_versions (
    pipeline_id BIGINT NOT NULL,
    version BIGINT NOT NULL,
    document VARCHAR NOT NULL,
    note VARCHAR NOT NULL,
    saved_at TIMESTAMP NOT NULL DEFAULT {NOW}
);
CREATE TABLE drafts (
    key VARCHAR PRIMARY KEY,
    document VARCHAR NOT NULL,
    pipeline_id BIGINT,
    version BIGINT,
    saved_at TIMESTAMP NOT NULL
);
CREATE SEQUENCE run_ids;
CREATE TABLE runs (
    run_id BIGINT PRIMARY KEY DEFAULT nextval('run_ids'),
    name VARCHAR NOT NULL,
    status VARCHAR NOT NULL DEFAULT 'running',
    pipeline_id BIGINT,
    pipeline_version BIGINT,
    engine VARCHAR NOT NULL,
    document VARCHAR NOT NULL,
    explanation VARCHAR NOT NULL DEFAULT '{{}}',
    epochs BIGINT NOT NULL DEFAULT 1,
    started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    error VARCHAR NOT NULL DEFAULT '',
    error_node VARCHAR NOT NULL DEFAULT ''
);
CREATE TABLE run_epochs (
    run_id BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    committed_at TIMESTAMP NOT NULL DEFAULT {NOW}
);
CREATE TABLE run_edges (
    run_id BIGINT NOT NULL,
    place BIGINT NOT NULL,
    node VARCHAR NOT NULL,
    port VARCHAR NOT NULL,
    operator VARCHAR NOT NULL,
    role VARCHAR NOT NULL,
    mode VARCHAR NOT NULL,
    table_name VARCHAR NOT NULL,
    columns VARCHAR NOT NULL,
    upsert_key VARCHAR NOT NULL,
    watermark_delay_ms BIGINT,
    inserts BIGINT NOT NULL DEFAULT 0,
    updates_before BIGINT NOT NULL DEFAULT 0,
    updates_after BIGINT NOT NULL DEFAULT 0,
    deletes BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE run_problems (
    run_id BIGINT NOT NULL,
    node VARCHAR NOT NULL,
    late BIGINT NOT NULL DEFAULT 0,
    rejected BIGINT NOT NULL DEFAULT 0
);
COMMENT ON TABLE pipelines IS 'Saved pipelines; their documents are in pipeline_versions. Times are UTC.';
COMMENT ON TABLE pipeline_versions IS 'Every saved version of a pipeline, as its JSON document.';
COMMENT ON TABLE drafts IS 'Unsaved work of the builder.';
COMMENT ON TABLE runs IS 'Every run. Its records are in the schema run_<run_id>. Times are UTC.';
COMMENT ON TABLE run_epochs IS 'The epochs of a run that were committed, each once.';
COMMENT ON TABLE run_edges IS 'The outputs of the nodes of a run, one table each, with record counts by kind.';
COMMENT ON TABLE run_problems IS 'Late and rejected records per node and run, counted.';
"""

CHECKS: Final = f"""
CREATE TABLE run_checks (
    run_id BIGINT NOT NULL,
    document VARCHAR NOT NULL,
    checked_at TIMESTAMP NOT NULL DEFAULT {NOW}
);
COMMENT ON TABLE run_checks IS 'What the batch check of a run found, as JSON. Times are UTC.';
"""

ANSWERS: Final = """
CREATE TABLE run_answers (
    run_id BIGINT NOT NULL,
    question VARCHAR NOT NULL,
    found_for VARCHAR NOT NULL,
    document VARCHAR NOT NULL
);
COMMENT ON TABLE run_answers IS 'Cached answers about large runs, as JSON.';
"""

# Before this migration, lifetimes were complete with every commit. Since then the store notes how far they go.
LIFETIMES: Final = """
CREATE TABLE run_lifetimes (
    run_id BIGINT NOT NULL,
    table_name VARCHAR NOT NULL,
    records BIGINT NOT NULL,
    last_seq BIGINT NOT NULL
);
INSERT INTO run_lifetimes
SELECT run_id, table_name, inserts + updates_before + updates_after + deletes,
    coalesce((SELECT max(last_seq) FROM run_epochs p WHERE p.run_id = e.run_id), 0)
FROM run_edges e WHERE mode <> '[I]' AND inserts + updates_before + updates_after + deletes > 0;
ALTER TABLE run_edges ADD COLUMN shows VARCHAR;
COMMENT ON TABLE run_lifetimes IS
    'How many records of an updating output its table of lifetimes knows: all of events up to last_seq.';
COMMENT ON COLUMN run_edges.shows IS 'For an output that is a view: the table of which, as JSON.';
"""

LIVE: Final = """
CREATE TABLE run_live (
    run_id BIGINT NOT NULL,
    folder VARCHAR NOT NULL,
    interval_ms BIGINT,
    records BIGINT,
    checkpoint VARCHAR NOT NULL DEFAULT ''
);
ALTER TABLE run_epochs ADD COLUMN decision VARCHAR DEFAULT '';
COMMENT ON TABLE run_live IS
    'Live runs: what relative paths are relative to, and what a run needs to go on after its last epoch, as JSON.';
COMMENT ON COLUMN run_epochs.decision IS
    'Of a live run: what the epoch took of each source, and which of them ended, as JSON.';
"""

MAKERS: Final = """
ALTER TABLE runs ADD COLUMN made_by VARCHAR DEFAULT '';
ALTER TABLE pipeline_versions ADD COLUMN made_by VARCHAR DEFAULT '';
COMMENT ON COLUMN runs.made_by IS 'Who started it, where people log in; else empty.';
COMMENT ON COLUMN pipeline_versions.made_by IS 'Who saved it, where people log in; else empty.';
"""

RETENTION: Final = """
CREATE TABLE run_retention (
    run_id BIGINT NOT NULL,
    events BIGINT,
    hours DOUBLE,
    kept_from BIGINT NOT NULL DEFAULT 1
);
COMMENT ON TABLE run_retention IS
    'How much of a live run is kept: its last events, or those of the last hours. All is kept from kept_from on.';
"""

CONDITIONS: Final = """
CREATE TABLE run_conditions (run_id BIGINT NOT NULL, kind VARCHAR NOT NULL, bound DOUBLE NOT NULL);
CREATE TABLE run_warnings (
    run_id BIGINT NOT NULL,
    kind VARCHAR NOT NULL,
    bound DOUBLE NOT NULL,
    value DOUBLE NOT NULL,
    seq BIGINT NOT NULL,
    raised_at TIMESTAMP NOT NULL,
    over_at TIMESTAMP
);
COMMENT ON TABLE run_conditions IS 'The alert conditions of live runs, with their bounds.';
COMMENT ON TABLE run_warnings IS 'When such a condition was met, by which event, and until when. Times are UTC.';
"""

VIEWS: Final = f"""
CREATE SEQUENCE view_ids;
CREATE TABLE saved_views (
    view_id BIGINT PRIMARY KEY DEFAULT nextval('view_ids'),
    name VARCHAR NOT NULL,
    note VARCHAR NOT NULL,
    page VARCHAR NOT NULL,
    query VARCHAR NOT NULL,
    saved_at TIMESTAMP NOT NULL DEFAULT {NOW},
    made_by VARCHAR NOT NULL
);
COMMENT ON TABLE saved_views IS 'Pages with what is open on them, and questions in SQL, under a name. Times are UTC.';
"""

EDGE_RETENTION: Final = """
CREATE TABLE run_edge_retention (
    run_id BIGINT NOT NULL,
    table_name VARCHAR NOT NULL,
    records BIGINT,
    hours DOUBLE,
    kept_from BIGINT NOT NULL DEFAULT 1
);
COMMENT ON TABLE run_edge_retention IS
    'Edges of a live run that keep less than the run: their last records, or those of the last hours.';
"""

STANDINGS: Final = """
ALTER TABLE run_retention ADD COLUMN standings VARCHAR;
COMMENT ON COLUMN run_retention.standings IS
    'If sources have been idle: the state of the combined watermarks before event kept_from, by origin, as JSON.';
"""

IDENTITIES: Final = """
ALTER TABLE drafts ADD COLUMN identity VARCHAR DEFAULT '';
ALTER TABLE pipelines ADD COLUMN identity VARCHAR DEFAULT '';
ALTER TABLE runs ADD COLUMN identity VARCHAR DEFAULT '';
ALTER TABLE runs ADD COLUMN composed VARCHAR DEFAULT '';
UPDATE drafts SET identity = CASE WHEN pipeline_id IS NULL THEN 'draft-' || key ELSE 'pipeline-' || pipeline_id END;
UPDATE pipelines SET identity = 'pipeline-' || pipeline_id;
UPDATE runs SET identity = 'pipeline-' || pipeline_id WHERE pipeline_id IS NOT NULL;
COMMENT ON COLUMN runs.identity IS 'The pipeline that ran: the same as of its drafts and of the saved pipeline.';
COMMENT ON COLUMN runs.composed IS
    'The pipeline as its user composed it when the run started; document is the one that was planned.';
"""

# Open and ended lifetimes are apart since then. Those of stored runs are computed anew when somebody looks.
OPEN_LIFETIMES: Final = "DELETE FROM run_lifetimes"

SHARES: Final = """
ALTER TABLE run_edges ADD COLUMN share VARCHAR;
ALTER TABLE run_edges ADD COLUMN left_out BIGINT DEFAULT 0;
COMMENT ON COLUMN run_edges.share IS
    'What is kept of its records, as JSON: those of one key in one_in, by a hash of columns; 0: none. NULL: all.';
COMMENT ON COLUMN run_edges.left_out IS 'The records that are not kept because of its share.';
"""

STAYING: Final = """
ALTER TABLE run_edges ADD COLUMN stays BOOLEAN DEFAULT false;
CREATE TABLE run_staying_files (
    run_id BIGINT NOT NULL,
    table_name VARCHAR NOT NULL,
    path VARCHAR NOT NULL,
    bytes BIGINT NOT NULL,
    last_seq BIGINT NOT NULL
);
CREATE TABLE staying_folders (run_id BIGINT NOT NULL, folder VARCHAR NOT NULL);
COMMENT ON COLUMN run_edges.stays IS 'Whether its records are in files of the engine''s workspace.';
COMMENT ON TABLE run_staying_files IS 'The files of outputs whose records stay in the engine''s workspace, in order.';
COMMENT ON TABLE staying_folders IS 'Folders of workspaces with such files, also of deleted runs until they are empty.';
"""

CUT_VALUES: Final = """
CREATE TABLE run_cut_values (
    run_id BIGINT NOT NULL, node VARCHAR NOT NULL, column_name VARCHAR NOT NULL, cut BIGINT NOT NULL
);
COMMENT ON TABLE run_cut_values IS
    'By source and column, how many values lost digits beyond microseconds: a row for each epoch that has such values.';
"""

Step = str | Callable[[Cursor], None]
"""SQL, or a function where a step depends on what the store holds."""

MIGRATIONS: Final[tuple[tuple[int, str, Step], ...]] = (
    (1, "catalog", CATALOG),
    (2, "checks", CHECKS),
    (3, "answers", ANSWERS),
    (4, "lifetimes", LIFETIMES),
    (5, "live", LIVE),
    (6, "makers", MAKERS),
    (7, "retention", RETENTION),
    (8, "conditions", CONDITIONS),
    (9, "views", VIEWS),
    (10, "edge retention", EDGE_RETENTION),
    (11, "standings", STANDINGS),
    (12, "identities", IDENTITIES),
    (13, "dropped or used", tell_dropped_from_used),
    (14, "open lifetimes", OPEN_LIFETIMES),
    (15, "shares", SHARES),
    (16, "staying changelogs", STAYING),
    (17, "cut values", CUT_VALUES),
)
VERSION: Final = MIGRATIONS[-1][0]

_MIGRATIONS: Final = f"""
CREATE TABLE main.migrations (
    number BIGINT PRIMARY KEY, name VARCHAR NOT NULL, applied_at TIMESTAMP NOT NULL DEFAULT {NOW}
)
"""
_TABLES: Final = """
SELECT table_name FROM duckdb_tables() WHERE NOT internal
UNION ALL SELECT view_name FROM duckdb_views() WHERE NOT internal
ORDER BY 1 LIMIT 3
"""


def version_of(cursor: Cursor) -> int:
    """The number of the last applied migration; 0 for a new file, and for one of another program."""
    try:
        # Not from duckdb_columns(): its first use in a process takes 7 ms.
        row = cursor.execute("SELECT max(number), max(name), max(applied_at) FROM main.migrations").fetchone()
    except (duckdb.CatalogException, duckdb.BinderException):
        return 0
    return int(row[0] or 0) if row else 0


def migrate(database: Database, migrations: tuple[tuple[int, str, Step], ...] = MIGRATIONS) -> None:
    """Bring the file up to date. Raises StoreTooNew and StoreForeign, and leaves such a file as it is."""
    with database.cursor() as cursor:
        version = version_of(cursor)
        tables = [] if version or database.is_new else cursor.execute(_TABLES).fetchall()
    if tables:
        raise StoreForeign(database.path, [str(name) for (name,) in tables])
    newest = migrations[-1][0]
    if version > newest:
        raise StoreTooNew(database.path, version, newest)
    if version == newest:
        return
    with database.transaction() as cursor:
        if not version:
            cursor.execute(_MIGRATIONS)
        missing = migrations[version:]
        for _, _, step in missing:
            if isinstance(step, str):
                cursor.execute(step)
            else:
                step(cursor)
        numbers, names = [number for number, _, _ in missing], [name for _, name, _ in missing]
        cursor.execute("INSERT INTO main.migrations (number, name) SELECT unnest(?), unnest(?)", [numbers, names])
