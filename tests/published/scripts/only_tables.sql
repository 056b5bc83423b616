CREATE TABLE a (x INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3');
CREATE TABLE b (y INT) WITH ('connector' = 'print');
CREATE VIEW c AS SELECT x + 1 AS y FROM a;
