-- Queries in WITH, one on the other.
CREATE TABLE m (sensor STRING, v DOUBLE)
WITH ('connector' = 'filesystem', 'path' = '/data/m', 'format' = 'json');
INSERT INTO m VALUES
  ('a', 1.5),
  ('b', 20.25),
  ('a', 2.5),
  ('b', 0.75);

WITH sums AS (SELECT sensor, SUM(v) AS s, MAX(v) AS most, COUNT(*) AS n FROM m GROUP BY sensor),
  graded (sensor, grade) AS (SELECT sensor, CASE WHEN s > 10 THEN 'high' WHEN s > 3 THEN 'middle' ELSE 'low' END FROM sums)
SELECT sensor, grade FROM graded WHERE grade <> 'low';
