SET 'table.local-time-zone' = 'America/Los_Angeles';

CREATE TABLE rides (
  rider STRING,
  at_ms BIGINT,
  km INT,
  ts AS TO_TIMESTAMP_LTZ(at_ms, 3),
  WATERMARK FOR ts AS ts - INTERVAL '1' MINUTE
) WITH ('connector' = 'kafka', 'topic' = 'rides', 'format' = 'json');

INSERT INTO rides VALUES
  ('a', 1710057600000, 3),
  ('b', 1710064740000, 5),
  ('a', 1710066600000, 2),
  ('a', 1710064500000, 9),
  ('b', 1710141000000, 4),
  ('a', 1710144060000, 1),
  ('c', 1710057660000, 8),
  ('a', 1730622600000, 7),
  ('b', 1730624400000, 6),
  ('a', 1730626200000, 5),
  ('b', 1730624100000, 2),
  ('a', 1730628900000, 4),
  ('c', 1730700000000, 3),
  ('c', 1730707500000, 1);

SELECT rider, km, CAST(ts AS STRING) AS at_time, window_start, window_end, CAST(window_time AS STRING) AS last_moment
FROM TABLE(TUMBLE(TABLE rides, DESCRIPTOR(ts), INTERVAL '1' HOUR));
