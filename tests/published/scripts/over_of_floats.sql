-- Averages of FLOATs over the last minute, and the lines of addresses as entries of a map.
CREATE TABLE measured (
  at_time TIMESTAMP(3),
  city STRING,
  degrees FLOAT,
  WATERMARK FOR at_time AS at_time - INTERVAL '15' SECONDS
) WITH (
  'connector' = 'kafka',
  'topic' = 'measured',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO measured VALUES
  (TIMESTAMP '2024-05-01 10:00:01', 'Bern', 10.5),
  (TIMESTAMP '2024-05-01 10:00:30', 'Bern', 11.5),
  (TIMESTAMP '2024-05-01 10:00:20', 'Genf', 14.0),
  (TIMESTAMP '2024-05-01 10:01:10', 'Bern', 12.5);

SELECT
  at_time,
  city,
  AVG(CAST(degrees AS FLOAT)) OVER last_minute AS average,
  MAX(degrees + 1) OVER last_minute AS warmest,
  COUNT(STR_TO_MAP('home:' || city || ';work:', ';', ':')['home']) OVER last_minute AS homes
FROM measured
WINDOW last_minute AS (
  PARTITION BY city ORDER BY at_time RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW
);
