-- Orders with their payment, which may come later or never.
CREATE TABLE o (id INT, what STRING)
WITH ('connector' = 'filesystem', 'path' = '/data/o', 'format' = 'json');
INSERT INTO o VALUES
  (1, 'x'),
  (2, 'y'),
  (3, 'z');
CREATE TABLE p (id INT, paid INT)
WITH ('connector' = 'filesystem', 'path' = '/data/p', 'format' = 'json');
INSERT INTO p VALUES
  (2, 20),
  (1, 5),
  (1, 6);

SELECT o.id, what, COALESCE(SUM(paid), 0) AS paid
FROM o LEFT JOIN p ON o.id = p.id
GROUP BY o.id, what
HAVING COALESCE(SUM(paid), 0) < 20;
