-- Group windows of 10 minutes every 4, and of 2 minutes every 5, between which rows fall into none.
CREATE TABLE readings (sensor STRING, celsius INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'filesystem', 'path' = '/data/readings', 'format' = 'csv');
INSERT INTO readings VALUES
  ('a', 20, TIMESTAMP '2024-05-01 08:00:00'),
  ('b', 18, TIMESTAMP '2024-05-01 08:03:59'),
  ('a', 21, TIMESTAMP '2024-05-01 08:06:00'),
  ('a', 25, TIMESTAMP '2024-05-01 08:11:30'),
  ('b', 17, TIMESTAMP '2024-05-01 08:04:30'),
  ('b', 19, TIMESTAMP '2024-05-01 08:30:00'),
  ('a', 24, TIMESTAMP '2024-05-01 08:12:00'),
  ('a', 23, TIMESTAMP '2024-05-01 08:31:00');

SELECT HOP_START(ts, INTERVAL '4' MINUTE, INTERVAL '10' MINUTE) AS s, HOP_END(ts, INTERVAL '4' MINUTE, INTERVAL '10' MINUTE) AS e,
  MAX(celsius) AS hottest, COUNT(DISTINCT sensor) AS sensors
FROM readings GROUP BY HOP(ts, INTERVAL '4' MINUTE, INTERVAL '10' MINUTE);

SELECT HOP_START(ts, INTERVAL '4' MINUTE, INTERVAL '10' MINUTE) AS s, LISTAGG(sensor || CAST(celsius AS STRING), ' ') AS seen
FROM readings GROUP BY HOP(ts, INTERVAL '4' MINUTE, INTERVAL '10' MINUTE);

SELECT HOP_START(ts, INTERVAL '5' MINUTE, INTERVAL '10' MINUTE) AS s, LISTAGG(sensor || CAST(celsius AS STRING), ' ') AS seen
FROM readings GROUP BY HOP(ts, INTERVAL '5' MINUTE, INTERVAL '10' MINUTE);

SELECT HOP_ROWTIME(ts, INTERVAL '5' MINUTE, INTERVAL '2' MINUTE) AS t, COUNT(*) AS n, SUM(celsius) AS sum_c
FROM readings GROUP BY HOP(ts, INTERVAL '5' MINUTE, INTERVAL '2' MINUTE);

SELECT sensor, celsius, window_start, window_end
FROM TABLE(HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL '4' MINUTE, INTERVAL '10' MINUTE));

SELECT sensor, window_start, window_end, rn FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY celsius DESC) AS rn
  FROM TABLE(HOP(TABLE readings, DESCRIPTOR(ts), INTERVAL '5' MINUTE, INTERVAL '3' MINUTE)))
WHERE rn = 1;
