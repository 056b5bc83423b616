CREATE TABLE emp (id INT, dept STRING, pay INT, boss INT) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO emp VALUES
  (1, 'x', 100, CAST(NULL AS INT)),
  (2, 'x', 50, 1),
  (3, 'y', 70, 1),
  (4, 'y', 90, 3);

SELECT id, pay FROM emp WHERE pay > (SELECT AVG(pay) FROM emp);

SELECT e.id, b.id AS boss FROM emp AS e LEFT JOIN emp AS b ON e.boss = b.id;

SELECT dept FROM emp AS e WHERE EXISTS (SELECT 1 FROM emp AS x WHERE x.boss = e.id);

SELECT dept, MAX(pay) - MIN(pay) AS spread FROM emp GROUP BY dept HAVING COUNT(*) > 1;
