-- Sessions of visitors, with a gap of two minutes.
CREATE TABLE visits (who STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'path' = '/data/visits', 'format' = 'json');
INSERT INTO visits VALUES
  ('a', TIMESTAMP '2024-05-01 09:00:00'),
  ('b', TIMESTAMP '2024-05-01 09:00:30'),
  ('a', TIMESTAMP '2024-05-01 09:01:00'),
  ('a', TIMESTAMP '2024-05-01 09:05:00'),
  ('b', TIMESTAMP '2024-05-01 09:02:29'),
  ('c', TIMESTAMP '2024-05-01 09:09:00');

SELECT who, window_start, window_end, COUNT(*) AS visits
FROM TABLE(SESSION(TABLE visits PARTITION BY who, DESCRIPTOR(ts), INTERVAL '2' MINUTES))
GROUP BY who, window_start, window_end;
