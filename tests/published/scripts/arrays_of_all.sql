CREATE TABLE a (id INT, xs ARRAY<INT>, m MAP<STRING, INT>) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO a VALUES
  (1, ARRAY[3, 1, 2, 1], MAP['k', 1, 'j', 2]),
  (2, ARRAY[5], MAP['z', 9]);

SELECT
  id,
  ARRAY_DISTINCT(xs) AS d,
  ARRAY_POSITION(xs, 1) AS p,
  ARRAY_REVERSE(xs) AS r,
  ARRAY_MAX(xs) AS mx,
  ARRAY_MIN(xs) AS mn,
  ARRAY_APPEND(xs, 7) AS ap,
  ARRAY_PREPEND(xs, 0) AS pr,
  ARRAY_REMOVE(xs, 1) AS rm,
  ARRAY_SLICE(xs, 2, 3) AS sl,
  ARRAY_UNION(xs, ARRAY[8]) AS un,
  ARRAY_CONCAT(xs, ARRAY[9]) AS co,
  ARRAY_EXCEPT(xs, ARRAY[1]) AS ex,
  ARRAY_INTERSECT(xs, ARRAY[1, 2]) AS it
FROM a;

SELECT
  id,
  CAST(ARRAY_SORT(xs) AS STRING) AS s1,
  CAST(ARRAY_SORT(xs, FALSE) AS STRING) AS s2,
  CAST(ARRAY_SORT(xs, TRUE, FALSE) AS STRING) AS s3,
  CAST(ARRAY_SORT(ARRAY[2, CAST(NULL AS INT), 1], FALSE) AS STRING) AS s4,
  CAST(ARRAY_SORT(ARRAY[2, CAST(NULL AS INT), 1], TRUE, FALSE) AS STRING) AS s5,
  CAST(ARRAY_SORT(ARRAY[2, CAST(NULL AS INT), 1], FALSE, TRUE) AS STRING) AS s6
FROM a;

SELECT
  id,
  MAP_KEYS(MAP['k', id]) AS mk,
  CAST(MAP_FROM_ARRAYS(ARRAY['a'], ARRAY[id]) AS STRING) AS fa,
  CARDINALITY(m) AS c,
  CAST(MAP_ENTRIES(MAP['q', id]) AS STRING) AS me
FROM a;
