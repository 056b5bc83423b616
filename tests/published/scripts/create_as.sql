CREATE TABLE src (id INT, tags STRING, amount DOUBLE) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO src VALUES
  (1, 'a,b', 1.5),
  (2, 'c', 2.5),
  (3, '', 3.5);

CREATE VIEW big (ident, amt) AS SELECT id, amount FROM src WHERE amount > 2;

CREATE TEMPORARY VIEW doubled AS SELECT ident, amt * 2 AS amt FROM big;

SELECT * FROM doubled;

SELECT
  id,
  SPLIT(tags, ',') AS parts,
  CARDINALITY(SPLIT(tags, ',')) AS n,
  ARRAY_JOIN(ARRAY[tags, CAST(id AS STRING)], '|') AS j
FROM src;

SELECT SUM(amt) AS s FROM (SELECT amt FROM doubled UNION ALL SELECT amount FROM src) AS u (amt);
