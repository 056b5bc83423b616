-- Collections: elements, sizes and their texts.
CREATE TABLE things (id INT, tags ARRAY<STRING>, props MAP<STRING, INT>)
WITH ('connector' = 'filesystem', 'path' = '/data/things', 'format' = 'json');
INSERT INTO things VALUES
  (1, ARRAY['a', 'b', 'a'], MAP['x', 1, 'y', 2]),
  (2, ARRAY['c'], MAP['x', 5]);

SELECT id, tags[1] AS first_tag, CARDINALITY(tags) AS n, props['x'] AS x, ARRAY_CONTAINS(tags, 'b') AS has_b,
  ARRAY_JOIN(ARRAY_DISTINCT(tags), '-') AS joined, CAST(props AS STRING) AS told
FROM things;
