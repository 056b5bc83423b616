CREATE TABLE t (a INT, b STRING, c BOOLEAN, d DATE, e DECIMAL(5, 1)) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO t VALUES
  (1, 'x', TRUE, DATE '2024-02-29', 1.5),
  (CAST(NULL AS INT), '', FALSE, CAST(NULL AS DATE), CAST(NULL AS DECIMAL(5, 1))),
  (3, CAST(NULL AS STRING), CAST(NULL AS BOOLEAN), DATE '2023-12-31', -0.5);

SELECT
  COALESCE(a, 0) AS a,
  IFNULL(b, '?') AS b,
  NULLIF(b, '') AS n,
  c IS NOT TRUE AS nt,
  c IS UNKNOWN AS u,
  a IS DISTINCT
FROM 1 AS df, IF(a > 1, 'big', 'small') AS i, GREATEST(a, 2) AS g
FROM t;

SELECT
  COUNT(*) AS n,
  COUNT(a) AS na,
  SUM(e) AS s,
  AVG(e) AS av,
  MAX(b) AS mb,
  MIN(d) AS md,
  SUM(a) FILTER (WHERE c) AS f
FROM t;

SELECT
  d + INTERVAL '1' MONTH AS m,
  EXTRACT(YEAR FROM d) AS y,
  EXTRACT(DOW FROM d) AS dow,
  TIMESTAMPDIFF(DAY, DATE '2024-01-01', d) AS diff,
  QUARTER(d) AS q,
  WEEK(d) AS w,
  DAYOFYEAR(d) AS doy,
  CAST(d AS STRING) AS ds,
  CEIL(d TO YEAR) AS cy
FROM t;
