CREATE TABLE rates (currency STRING, rate INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 'rates', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE orders (id INT, currency STRING, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO rates VALUES ('EUR', 1, TIMESTAMP '2024-01-01 09:00:00'), ('EUR', 2, TIMESTAMP '2024-01-01 10:00:00');
INSERT INTO orders VALUES (1, 'EUR', 10, TIMESTAMP '2024-01-01 09:30:00'), (2, 'EUR', 10, TIMESTAMP '2024-01-01 10:30:00');
CREATE TEMPORARY VIEW versioned_rates AS
SELECT currency, rate, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY ts DESC) AS rownum FROM rates) WHERE rownum = 1;
SELECT o.id, o.price * r.rate AS usd FROM orders AS o LEFT JOIN versioned_rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency;
