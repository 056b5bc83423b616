-- The first order of each customer, and what changed since the one before.
CREATE TABLE orders (id INT, customer STRING, amount INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '0' SECOND)
WITH ('connector' = 'filesystem', 'path' = '/data/orders', 'format' = 'json');
INSERT INTO orders VALUES
  (1, 'a', 10, TIMESTAMP '2024-05-01 10:00:00'),
  (2, 'b', 5, TIMESTAMP '2024-05-01 10:01:00'),
  (3, 'a', 7, TIMESTAMP '2024-05-01 10:02:00'),
  (4, 'b', 9, TIMESTAMP '2024-05-01 10:03:00'),
  (5, 'a', 7, TIMESTAMP '2024-05-01 10:04:00');

CREATE VIEW changes AS
SELECT id, customer, amount, LAG(amount) OVER w AS before_it, amount - LAG(amount, 1) OVER w AS change
FROM orders WINDOW w AS (PARTITION BY customer ORDER BY ts);
SELECT * FROM changes WHERE change IS NULL OR change <> 0;
