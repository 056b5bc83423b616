-- The two highest bids of each window.
CREATE TABLE bids (item STRING, price DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)
WITH ('connector' = 'filesystem', 'path' = '/data/bids', 'format' = 'json');
INSERT INTO bids VALUES
  ('A', 4.00, TIMESTAMP '2024-05-01 08:05:00'),
  ('C', 2.00, TIMESTAMP '2024-05-01 08:07:00'),
  ('D', 5.00, TIMESTAMP '2024-05-01 08:09:00'),
  ('B', 3.00, TIMESTAMP '2024-05-01 08:11:00'),
  ('E', 1.00, TIMESTAMP '2024-05-01 08:13:00'),
  ('F', 6.00, TIMESTAMP '2024-05-01 08:17:00');

SELECT * FROM (
  SELECT window_start, item, price,
    ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS rownum
  FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' MINUTES))
) WHERE rownum <= 2;
