-- A look at the table, then at what it adds up to.
CREATE TABLE orders (order_id INT, customer STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO orders VALUES (1, 'ada', 10.50, TIMESTAMP '2024-01-01 10:00:00'), (2, 'bob', 7.25, TIMESTAMP '2024-01-01 10:00:07'), (3, 'ada', 1.00, TIMESTAMP '2024-01-01 10:00:12'), (4, 'bob', 100.00, TIMESTAMP '2024-01-01 10:01:01');
SELECT * FROM orders;
SELECT COUNT(*) AS n FROM orders;
SELECT customer, SUM(amount) AS total FROM orders GROUP BY customer;
SELECT window_start, window_end, SUM(amount) AS total FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' MINUTES)) GROUP BY window_start, window_end;
