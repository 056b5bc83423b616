CREATE TABLE prices (v INT) WITH ('connector' = 'print');
DROP TABLE IF EXISTS prices;
CREATE TABLE prices (v DOUBLE) WITH ('connector' = 'filesystem', 'path' = '/data/prices', 'format' = 'csv');
CREATE TEMPORARY VIEW dear AS SELECT v FROM prices WHERE v > 1;
DROP TEMPORARY VIEW dear;
CREATE TEMPORARY VIEW dear AS SELECT v FROM prices WHERE v > 2;
INSERT INTO prices VALUES (1.5), (2.5);
SELECT * FROM dear;
