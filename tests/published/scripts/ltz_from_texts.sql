CREATE TABLE e (s STRING, z STRING, n BIGINT) WITH ('connector' = 'kafka', 'topic' = 'e', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO e VALUES ('2024-01-01 10:00:00', 'Asia/Tokyo', 1704103200), ('2024-07-01 10:00:00.123', 'Europe/Berlin', 1719828000);
SELECT CAST(TO_TIMESTAMP_LTZ(s) AS STRING) AS a, CAST(TO_TIMESTAMP_LTZ(n, 0) AS STRING) AS b, CAST(TO_TIMESTAMP_LTZ(SUBSTRING(s, 1, 19), 'yyyy-MM-dd HH:mm:ss', 'Asia/Tokyo') AS STRING) AS c, CONVERT_TZ(SUBSTRING(s, 1, 19), 'UTC', z) AS d FROM e;
