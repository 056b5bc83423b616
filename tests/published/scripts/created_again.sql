-- One name, several tables: each statement sees the table of its time, and a view the one of the query that reads it.
CREATE TABLE a (x INT) WITH ('connector' = 'filesystem', 'path' = '/data/a', 'format' = 'json');
INSERT INTO a VALUES (1), (2);
CREATE VIEW v AS SELECT x + 1 AS y FROM a;
CREATE VIEW w AS SELECT y FROM v AS a WHERE a.y > 1;
SELECT y FROM w;
DROP VIEW w;
DROP TABLE a;
CREATE TABLE a (x BIGINT, z STRING) WITH ('connector' = 'filesystem', 'path' = '/data/b', 'format' = 'json');
INSERT INTO a VALUES (10, 'p');
SELECT y FROM v;
WITH b AS (SELECT x FROM a) SELECT a.z, v.y FROM a JOIN v ON a.x + 1 = v.y JOIN b ON b.x = a.x;
ALTER TABLE a ADD (d AS x * 2);
SELECT * FROM a;
ALTER TABLE a RENAME TO old_a;
CREATE TABLE a (q INT) WITH ('connector' = 'filesystem', 'path' = '/data/c', 'format' = 'json');
INSERT INTO a SELECT CARDINALITY(ARRAY[1, 2]);
SELECT q FROM a;
SELECT z, d FROM old_a;
