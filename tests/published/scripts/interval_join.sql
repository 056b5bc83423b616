-- Clicks within five minutes of a view.
CREATE TABLE looks (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'filesystem', 'path' = '/data/looks', 'format' = 'json');
INSERT INTO looks VALUES
  (1, TIMESTAMP '2024-05-01 11:00:00'),
  (2, TIMESTAMP '2024-05-01 11:02:00'),
  (1, TIMESTAMP '2024-05-01 11:20:00');
CREATE TABLE clicks (id INT, at_ts TIMESTAMP(3), WATERMARK FOR at_ts AS at_ts)
WITH ('connector' = 'filesystem', 'path' = '/data/clicks', 'format' = 'json');
INSERT INTO clicks VALUES
  (1, TIMESTAMP '2024-05-01 11:04:00'),
  (2, TIMESTAMP '2024-05-01 11:08:00'),
  (1, TIMESTAMP '2024-05-01 11:21:00');

SELECT v.id, v.ts, c.at_ts
FROM looks AS v JOIN clicks AS c ON v.id = c.id AND c.at_ts BETWEEN v.ts AND v.ts + INTERVAL '5' MINUTE;
