CREATE TABLE good (a INT) WITH ('connector' = 'filesystem', 'path' = '/data/good', 'format' = 'csv');
INSERT INTO good VALUES (1), (2);
CREATE VIEW broken AS SELECT a, missing FROM good;
SELECT SUM(a) AS s FROM good;
