CREATE TABLE sales (region STRING, q INT, amount INT) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO sales VALUES
  ('n', 1, 10),
  ('s', 1, 20),
  ('n', 2, 5),
  ('n', 1, 1),
  ('s', 3, 7);

SELECT
  region,
  SUM(IF(q = 1, amount, 0)) AS q1,
  SUM(IF(q = 2, amount, 0)) AS q2,
  SUM(amount) AS total
FROM sales
GROUP BY region;

SELECT region, q, SUM(amount) AS s FROM sales GROUP BY ROLLUP (region, q);

SELECT region, ARRAY_AGG(amount) AS amounts, LAST_VALUE(amount) AS l, FIRST_VALUE(q) AS f
FROM sales
GROUP BY region;

SELECT s.region, s.amount, t.total
FROM sales AS s
JOIN (SELECT region, SUM(amount) AS total FROM sales GROUP BY region) AS t
ON s.region = t.region
WHERE s.amount > 5;
