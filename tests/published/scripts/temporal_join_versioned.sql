CREATE TABLE rates (currency STRING, rate DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND, PRIMARY KEY (currency) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'rates', 'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'raw', 'value.format' = 'json');
CREATE TABLE orders (id INT, currency STRING, price DECIMAL(10, 2), ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO rates VALUES ('EUR', 1.10, TIMESTAMP '2024-01-01 09:00:00'), ('EUR', 1.20, TIMESTAMP '2024-01-01 10:00:00');
INSERT INTO orders VALUES (1, 'EUR', 10.00, TIMESTAMP '2024-01-01 09:30:00'), (2, 'EUR', 10.00, TIMESTAMP '2024-01-01 10:30:00');
SELECT o.id, o.price * r.rate AS usd FROM orders o LEFT JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency;
