CREATE TABLE trips (id INT, started TIMESTAMP(3), ended TIMESTAMP(3)) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO trips VALUES
  (1, TIMESTAMP '2024-02-28 23:30:00', TIMESTAMP '2024-03-01 01:15:30.500'),
  (2, TIMESTAMP '2023-12-31 12:00:00', TIMESTAMP '2024-01-01 12:00:00'),
  (3, CAST(NULL AS TIMESTAMP(3)), TIMESTAMP '2024-01-01 00:00:00');

SELECT
  id,
  TIMESTAMPDIFF(MINUTE, started, ended) AS mins,
  TIMESTAMPADD(MONTH, 1, started) AS next_month,
  FLOOR(started TO HOUR) AS h,
  CEIL(ended TO DAY) AS d,
  DATE_FORMAT(ended, 'yyyy/MM/dd HH:mm') AS f,
  EXTRACT(EPOCH FROM ended) AS ep,
  MONTH(started) AS mo,
  HOUR(ended) AS ho
FROM trips;

SELECT
  id,
  ended - INTERVAL '1 02:03' DAY TO MINUTE AS back,
  started + INTERVAL '2-3' YEAR TO MONTH AS later,
  (started, ended) OVERLAPS (TIMESTAMP '2024-01-01 00:00:00', INTERVAL '1' DAY) AS o,
  CAST(started AS TIME) AS t,
  CAST(ended AS DATE) AS dt,
  UNIX_TIMESTAMP(CAST(started AS STRING), 'yyyy-MM-dd HH:mm:ss.SSS') AS u,
  FROM_UNIXTIME(0) AS fu
FROM trips;
