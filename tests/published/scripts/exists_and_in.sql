-- Customers with an order, and those without.
CREATE TABLE c (id INT, name STRING)
WITH ('connector' = 'filesystem', 'path' = '/data/c', 'format' = 'json');
INSERT INTO c VALUES
  (1, 'a'),
  (2, 'b'),
  (3, 'c');
CREATE TABLE r (cid INT, v INT)
WITH ('connector' = 'filesystem', 'path' = '/data/r', 'format' = 'json');
INSERT INTO r VALUES
  (1, 10),
  (1, 20),
  (3, 5);

SELECT name FROM c WHERE id IN (SELECT cid FROM r WHERE v > 7)
UNION ALL
SELECT CONCAT(name, ' none') AS name FROM c WHERE NOT EXISTS (SELECT * FROM r WHERE r.cid = c.id);
