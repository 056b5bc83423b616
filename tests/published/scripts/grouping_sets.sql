-- Sums by region, by product and in all.
CREATE TABLE sold (region STRING, product STRING, n INT)
WITH ('connector' = 'filesystem', 'path' = '/data/sold', 'format' = 'json');
INSERT INTO sold VALUES
  ('N', 'x', 1),
  ('S', 'x', 2),
  ('N', 'y', 3),
  ('N', 'x', 4);

SELECT COALESCE(region, 'all') AS region, COALESCE(product, 'all') AS product, SUM(n) AS n, COUNT(DISTINCT n) AS kinds
FROM sold
GROUP BY GROUPING SETS ((region, product), (region), ());
