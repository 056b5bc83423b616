/* Orders with nested lines: exploded, ranked in their windows, and told to two sinks. */
SET 'execution.runtime-mode' = 'streaming'; -- as the client wants it; not 'batch'
SET 'pipeline.name' = 'orders; by minute';

CREATE TABLE orders (
  order_id INT NOT NULL,
  buyer ROW<name STRING, address ROW<city STRING, `zip code` STRING>>,
  order_lines ARRAY<ROW<sku STRING, qty INT, price DECIMAL(8, 2)>>,
  ordered_at TIMESTAMP(3) COMMENT 'of the shop''s clock',
  WATERMARK FOR ordered_at AS ordered_at - INTERVAL '5' SECOND
) COMMENT 'orders; not yet paid' WITH (
  'connector' = 'filesystem', 'path' = 'orders', 'format' = 'json'
);

INSERT INTO orders VALUES
  (1, ROW('Ann', ROW('Oslo', '0150')), ARRAY[ROW('p', 2, 3.50), ROW('q', 1, 10)], TIMESTAMP '2024-05-01 10:00:05'),
  (2, ROW('Bo', ROW('Lima', CAST(NULL AS STRING))), ARRAY[ROW('p', 1, 3.50)], TIMESTAMP '2024-05-01 10:00:31.250'),
  (3, ROW('Ann', ROW('Oslo', '0150')), ARRAY[ROW('r', 7, 0.99), ROW('q', 2, 10), ROW('p', 1, 3.40)], TIMESTAMP '2024-05-01 10:00:58'),
  (4, ROW('Cy', ROW('Lima', '15001')), ARRAY[ROW('q', 3, 9.75)], TIMESTAMP '2024-05-01 10:01:10'),
  (5, ROW('Bo', ROW('Lima', CAST(NULL AS STRING))), ARRAY[ROW('r', 1, 1.05)], TIMESTAMP '2024-05-01 10:00:40'),
  (6, ROW('Ann', ROW('Oslo', '0150')), ARRAY[ROW('q', 1, 10.25)], TIMESTAMP '2024-05-01 10:02:00');

CREATE VIEW `order lines` AS
SELECT o.order_id, o.buyer.address.city AS `city`, o.buyer.address.`zip code` AS zip, l.sku, l.qty * l.price AS amount,
       o.ordered_at
FROM orders AS o
CROSS JOIN UNNEST(o.order_lines) AS l (sku, qty, price);

CREATE VIEW `by minute` AS
SELECT window_start, window_end, city, sku, SUM(amount) AS total, COUNT(DISTINCT order_id) AS orders_
FROM TABLE(TUMBLE(DATA => TABLE `order lines`, TIMECOL => DESCRIPTOR(ordered_at), SIZE => INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, city, sku;

SELECT * FROM `by minute`;

/* The best product of each city and minute. */
SELECT window_start, city, sku, total FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, city ORDER BY total DESC, sku) AS `rank`
  FROM `by minute`
) WHERE `rank` = 1;

-- First elements and sizes, where there are any.
SELECT order_id, order_lines[1].sku AS first_sku, CARDINALITY(order_lines) AS n, buyer.name || ' of ' || buyer.address.city AS who
FROM orders WHERE order_lines[1].qty > 1 OR buyer.address.`zip code` IS NULL;

-- With the names of the database and of its catalog.
SELECT default_catalog.default_database.orders.order_id, default_database.orders.buyer.name AS name
FROM default_catalog.default_database.orders WHERE orders.order_id <= 2;
