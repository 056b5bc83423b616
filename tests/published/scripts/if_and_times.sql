CREATE TABLE e (k STRING, ms BIGINT, s STRING, rt AS TO_TIMESTAMP_LTZ(ms, 3), WATERMARK FOR rt AS rt - INTERVAL '5' SECONDS) WITH ('connector' = 'kafka', 'topic' = 'e', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO e VALUES ('a', 1704103200000, '2024-01-01 10:00:00'), ('b', 1704103261000, '2024-01-01T10:01:01Z');
SELECT k, IF(ms > 1704103200000, 'late', 'early') AS w, CAST(TO_TIMESTAMP_LTZ(s, 'yyyy-MM-dd HH:mm:ss') AS STRING) AS t1, FROM_UNIXTIME(ms / 1000) AS t2 FROM e;
SELECT k, DATE_FORMAT(rt, 'yyyy-MM-dd HH:mm') AS m, EXTRACT(DOW FROM rt) AS d, DAYOFWEEK(CAST(rt AS DATE)) AS dow, QUARTER(CAST(rt AS DATE)) AS q, CAST(FLOOR(rt TO MINUTE) AS TIMESTAMP(3)) AS f FROM e;
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE e, DESCRIPTOR(rt), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end;
