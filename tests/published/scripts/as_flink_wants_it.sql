CREATE TABLE t (
  k STRING,
  v INT,
  ts TIMESTAMP(3),
  d DATE
) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

INSERT INTO t VALUES
  ('a', 1, TIMESTAMP '2024-01-01 10:00:00', DATE '2024-01-01'),
  (CAST(NULL AS STRING), 2, CAST(NULL AS TIMESTAMP(3)), DATE '2024-01-02'),
  ('b', 3, TIMESTAMP '2024-01-01 10:00:00.5', CAST(NULL AS DATE));

SELECT k, v FROM t;

SELECT k FROM t WHERE v = 1;

SELECT k FROM t WHERE v <> 1;

SELECT k FROM t LIMIT 10 OFFSET 1;

SELECT ts + INTERVAL '5' SECOND AS x FROM t;

SELECT ts + INTERVAL 5 MINUTES AS x FROM t;

SELECT k AS `user`, x.`value` FROM (SELECT k, v AS `value` FROM t) AS x;
