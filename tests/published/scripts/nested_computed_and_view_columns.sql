-- Readings that come as nested objects; the table flattens them.
CREATE TABLE readings (
  kind INT,
  indoor ROW<room STRING, degrees DOUBLE, at_time TIMESTAMP(3)>,
  outdoor ROW<station ROW<name STRING>, degrees DOUBLE, at_time TIMESTAMP(3)>,
  place AS CASE WHEN kind = 0 THEN indoor.room ELSE outdoor.station.name END,
  `at_time` AS CASE WHEN kind = 0 THEN indoor.`at_time` ELSE outdoor.`at_time` END,
  WATERMARK FOR `at_time` AS `at_time` - INTERVAL '4' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'readings',
  'properties.bootstrap.servers' = 'broker:9092',
  'properties.zookeeper.connect' = 'zookeeper:2181',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO readings VALUES
  (0, ROW('kitchen', 21.5, TIMESTAMP '2024-05-01 10:00:01.000'), CAST(NULL AS ROW<station ROW<name STRING>, degrees DOUBLE, at_time TIMESTAMP(3)>)),
  (1, CAST(NULL AS ROW<room STRING, degrees DOUBLE, at_time TIMESTAMP(3)>), ROW(ROW('harbour'), 9.5, TIMESTAMP '2024-05-01 10:00:02.000'));

CREATE TEMPORARY VIEW rows_of_nothing (kind, nothing_here) AS SELECT kind, CAST(NULL AS ROW<a INT, b ROW<c STRING>>) FROM readings;

CREATE TEMPORARY VIEW flat (kind, place, at_time, degrees) AS (
  SELECT kind, place, `at_time`, COALESCE(indoor.degrees, outdoor.degrees)
  FROM readings
);

CREATE VIEW both_kinds (place, degrees) AS
SELECT place, degrees FROM flat WHERE kind = 0
UNION ALL
SELECT place, degrees FROM flat WHERE kind = 1;

SELECT place, MAX(degrees) AS warmest, COUNT(*) AS n, COUNT(r.nothing_here.b.c) AS nothing
FROM both_kinds JOIN rows_of_nothing AS r ON TRUE GROUP BY place;
