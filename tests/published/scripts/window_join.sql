-- What was seen on both sides of a window.
CREATE TABLE bids (item STRING, price DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '/data/bids', 'format' = 'json');
INSERT INTO bids VALUES
  ('A', 4.00, TIMESTAMP '2024-05-01 08:05:00'),
  ('C', 2.00, TIMESTAMP '2024-05-01 08:07:00'),
  ('D', 5.00, TIMESTAMP '2024-05-01 08:09:00'),
  ('B', 3.00, TIMESTAMP '2024-05-01 08:11:00'),
  ('E', 1.00, TIMESTAMP '2024-05-01 08:13:00'),
  ('F', 6.00, TIMESTAMP '2024-05-01 08:17:00');
CREATE TABLE asks (item STRING, ask INT, ts2 TIMESTAMP(3), WATERMARK FOR ts2 AS ts2 - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '/data/asks', 'format' = 'json');
INSERT INTO asks VALUES
  ('A', 1, TIMESTAMP '2024-05-01 08:06:00'),
  ('D', 2, TIMESTAMP '2024-05-01 08:12:00'),
  ('B', 3, TIMESTAMP '2024-05-01 08:15:00');

SELECT l.item, l.price, r.ask, l.window_start
FROM (SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES))) AS l
JOIN (SELECT * FROM TABLE(TUMBLE(TABLE asks, DESCRIPTOR(ts2), INTERVAL '10' MINUTES))) AS r
ON l.item = r.item AND l.window_start = r.window_start AND l.window_end = r.window_end;
