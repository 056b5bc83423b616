CREATE TABLE readings (sensor STRING, v INT) WITH ('connector' = 'datagen', 'number-of-rows' = '0');
CREATE TABLE source_rows (sensor STRING, v INT) WITH ('connector' = 'filesystem', 'path' = '/data/rows', 'format' = 'csv');
CREATE TABLE averages (sensor STRING, v DOUBLE, note STRING) WITH ('connector' = 'filesystem', 'path' = '/data/avg', 'format' = 'csv');
INSERT INTO source_rows VALUES ('a', 3), ('b', 4);
INSERT INTO averages (sensor, v) SELECT sensor, v FROM source_rows;
SELECT sensor, v / 2 AS half, note FROM averages;
