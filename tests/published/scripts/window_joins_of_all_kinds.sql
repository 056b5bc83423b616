CREATE TABLE l (row_time TIMESTAMP(3), num INT, id STRING, WATERMARK FOR row_time AS row_time - INTERVAL '1' SECOND) WITH ('connector' = 'kafka', 'topic' = 'l', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE r (row_time TIMESTAMP(3), num INT, id STRING, WATERMARK FOR row_time AS row_time - INTERVAL '1' SECOND) WITH ('connector' = 'kafka', 'topic' = 'r', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO l VALUES (TIMESTAMP '2020-04-15 12:02:00', 1, 'L1'), (TIMESTAMP '2020-04-15 12:06:00', 2, 'L2'), (TIMESTAMP '2020-04-15 12:03:00', 3, 'L3');
INSERT INTO r VALUES (TIMESTAMP '2020-04-15 12:01:00', 2, 'R2'), (TIMESTAMP '2020-04-15 12:04:00', 3, 'R3'), (TIMESTAMP '2020-04-15 12:05:00', 4, 'R4');
SELECT L.num AS L_Num, L.id AS L_Id, R.num AS R_Num, R.id AS R_Id, COALESCE(L.window_start, R.window_start) AS window_start, COALESCE(L.window_end, R.window_end) AS window_end
FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L
FULL JOIN (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R
ON L.num = R.num AND L.window_start = R.window_start AND L.window_end = R.window_end;
SELECT * FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L WHERE L.num IN (SELECT num FROM (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R WHERE L.window_start = R.window_start AND L.window_end = R.window_end);
SELECT * FROM (SELECT * FROM TABLE(TUMBLE(TABLE l, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) L WHERE NOT EXISTS (SELECT * FROM (SELECT * FROM TABLE(TUMBLE(TABLE r, DESCRIPTOR(row_time), INTERVAL '5' MINUTES))) R WHERE L.num = R.num AND L.window_start = R.window_start AND L.window_end = R.window_end);
