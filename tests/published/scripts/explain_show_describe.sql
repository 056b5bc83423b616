USE CATALOG default_catalog;
SHOW TABLES;
CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'filesystem', 'path' = '/data/t', 'format' = 'csv');
DESCRIBE t;
SHOW CREATE TABLE t;
INSERT INTO t VALUES (1, 'x');
EXPLAIN SELECT a FROM t;
EXPLAIN PLAN FOR SELECT a FROM t;
SELECT b, a FROM t;
