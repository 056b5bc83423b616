-- A moving average over hopping windows.
CREATE TABLE bids (item STRING, price DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '/data/bids', 'format' = 'json');
INSERT INTO bids VALUES
  ('A', 4.00, TIMESTAMP '2024-05-01 08:05:00'),
  ('C', 2.00, TIMESTAMP '2024-05-01 08:07:00'),
  ('D', 5.00, TIMESTAMP '2024-05-01 08:09:00'),
  ('B', 3.00, TIMESTAMP '2024-05-01 08:11:00'),
  ('E', 1.00, TIMESTAMP '2024-05-01 08:13:00'),
  ('F', 6.00, TIMESTAMP '2024-05-01 08:17:00');

SELECT window_start, window_end, SUM(price) AS total, AVG(price) AS average, COUNT(*) AS n
FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES))
GROUP BY window_start, window_end;
