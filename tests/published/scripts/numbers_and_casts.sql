CREATE TABLE n (i INT, b BIGINT, f FLOAT, d DOUBLE, x DECIMAL(12, 4), s SMALLINT, y TINYINT) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO n VALUES
  (7, 9000000000, CAST(1.5 AS FLOAT), 2.25E0, 12345.6789, CAST(300 AS SMALLINT), CAST(12 AS TINYINT)),
  (-7, -1, CAST(0.1 AS FLOAT), -0.5E0, -0.0001, CAST(-5 AS SMALLINT), CAST(-3 AS TINYINT)),
  (0, 0, CAST(0 AS FLOAT), 0E0, 0, CAST(0 AS SMALLINT), CAST(0 AS TINYINT));

SELECT
  i / 2 AS half,
  i % 3 AS m,
  b * 2 AS b2,
  CAST(d AS INT) AS di,
  CAST(x AS DECIMAL(8, 2)) AS x2,
  ROUND(x, 2) AS r,
  TRUNCATE(x, 1) AS t,
  SIGN(i) AS sg,
  ABS(b) AS ab,
  CAST(f AS STRING) AS fs,
  CAST(d AS STRING) AS ds,
  x * i AS xi,
  x + 0.1 AS xp,
  -s AS neg,
  y + s AS ys
FROM n;

SELECT
  SUM(s) AS ss,
  AVG(i) AS ai,
  SUM(x) AS sx,
  AVG(x) AS ax,
  MAX(f) AS mf,
  MIN(d) AS md,
  COUNT(DISTINCT i) AS cd,
  AVG(d) AS ad
FROM n;

SELECT
  HEX(i) AS h,
  BIN(7) AS bi,
  LOG10(100) AS l,
  LN(EXP(1)) AS e,
  SQRT(d * d) AS sq,
  PI() > 3 AS pi_,
  CAST('12' AS INT) + i AS c,
  TRY_CAST('x' AS INT) AS tc,
  CAST(i AS BOOLEAN) AS bo,
  CONV_
FROM (SELECT *, i AS CONV_ FROM n);
