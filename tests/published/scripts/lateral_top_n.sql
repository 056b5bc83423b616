-- The two largest towns of each region, by a sub-query that sees the region.
CREATE TABLE towns (id INT, region STRING, town STRING, people INT, PRIMARY KEY (id) NOT ENFORCED)
WITH ('connector' = 'filesystem', 'path' = '/data/towns', 'format' = 'json');
INSERT INTO towns VALUES (1, 'N', 'a', 10), (2, 'N', 'b', 30), (3, 'S', 'c', 5), (4, 'N', 'd', 20), (5, 'S', 'e', 7);

CREATE TEMPORARY VIEW sizes AS
SELECT region, town, MAX(people) AS people FROM towns GROUP BY region, town;

SELECT region, town, people
FROM (SELECT DISTINCT region AS r FROM sizes) AS regions,
  LATERAL (
    SELECT region, town, people FROM sizes WHERE region = regions.r ORDER BY people DESC LIMIT 2
  );
