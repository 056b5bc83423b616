CREATE TABLE logs (line STRING) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO logs VALUES
  ('10.0.0.1 - GET /index.html?x=1&y=2 200 512'),
  ('10.0.0.2 - POST /login 401 0'),
  ('garbage'),
  (CAST(NULL AS STRING));

SELECT
  REGEXP_EXTRACT(line, '^(\S+) - (\S+) (\S+) (\d+) (\d+)$', 1) AS ip,
  SPLIT_INDEX(line, ' ', 2) AS verb,
  TRY_CAST(REGEXP_EXTRACT(line, '(\d+) (\d+)$', 2) AS INT) AS size_,
  COALESCE(PARSE_URL(CONCAT('http://h', SPLIT_INDEX(line, ' ', 3)), 'QUERY', 'x'), '-') AS x
FROM logs;

SELECT
  UPPER(SUBSTRING(line FROM 1 FOR 4)) AS u,
  CHAR_LENGTH(line) AS n,
  POSITION('GET' IN line) AS p,
  OVERLAY(line PLACING '***' FROM 1 FOR 3) AS o,
  line LIKE '%login%' AS is_login,
  LPAD(SPLIT_INDEX(line, ' ', 4), 6, '0') AS code,
  REVERSE(SPLIT_INDEX(line, ' ', 0)) AS r,
  MD5(line) AS h,
  TRIM(LEADING '1' FROM line) AS t
FROM logs
WHERE line IS NOT NULL;

SELECT
  line SIMILAR TO '%(GET|POST)%' AS s,
  INITCAP(line) AS i,
  REGEXP_REPLACE(line, '\d', '#') AS masked,
  ASCII(line) AS a,
  LOCATE('0', line, 5) AS l,
  TRANSLATE(line, 'abc', 'xyz') AS tr,
  line || '!' AS b
FROM logs;
