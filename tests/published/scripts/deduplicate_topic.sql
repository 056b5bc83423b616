CREATE TABLE orders (
  order_id STRING, price DECIMAL(10, 2), order_time TIMESTAMP(3),
  WATERMARK FOR order_time AS order_time - INTERVAL '5' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'localhost:9092',
  'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO orders VALUES
  ('o1', 10.5, TO_TIMESTAMP('2025-03-01 09:00:00')),
  ('o1', 10.5, TO_TIMESTAMP('2025-03-01 09:00:02')),
  ('o2', 4, TO_TIMESTAMP('2025-03-01 09:00:03'));
SELECT order_id, price FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY order_id ORDER BY order_time ASC) AS rn FROM orders
) WHERE rn = 1;
