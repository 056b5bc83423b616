CREATE TABLE customers (customer_id INT NOT NULL, name STRING, postcode STRING, city STRING, PRIMARY KEY (customer_id) NOT ENFORCED) DISTRIBUTED INTO 1 BUCKETS WITH ('kafka.cleanup-policy' = 'compact', 'changelog.mode' = 'upsert', 'value.format' = 'json-registry');
INSERT INTO customers VALUES (1, 'Ada', '123', 'x'), (2, 'Bob', '234', 'y'), (1, 'Ada L.', '123', 'z');
CREATE TABLE orders (order_id STRING NOT NULL, customer_id INT, price DOUBLE, PRIMARY KEY (order_id) NOT ENFORCED) WITH ('scan.bounded.mode' = 'latest-offset');
INSERT INTO orders VALUES ('o1', 1, 10.0), ('o2', 2, 20.0), ('o3', 1, 5.0);
SELECT c.name, SUM(o.price) AS total FROM orders o INNER JOIN customers c ON o.customer_id = c.customer_id GROUP BY c.name;
CREATE TABLE totals (name STRING, total DOUBLE, PRIMARY KEY (name) NOT ENFORCED) AS SELECT c.name, SUM(o.price) AS total FROM orders o JOIN customers c ON o.customer_id = c.customer_id GROUP BY c.name;
ALTER TABLE customers SET ('value.fields-include' = 'all');
ALTER TABLE orders MODIFY WATERMARK FOR `$rowtime` AS `$rowtime` - INTERVAL '5' SECOND;
SELECT * FROM totals;
