CREATE TABLE scores (player STRING, points INT, game STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO scores VALUES
  ('a',10,'x',TIMESTAMP '2024-01-01 00:00:00'),
  ('b',20,'x',TIMESTAMP '2024-01-01 00:00:10'),
  ('c',5,'y',TIMESTAMP '2024-01-01 00:00:20'),
  ('a',15,'x',TIMESTAMP '2024-01-01 00:01:10'),
  ('c',50,'x',TIMESTAMP '2024-01-01 00:01:20'),
  ('b',1,'y',TIMESTAMP '2024-01-01 00:02:00');

WITH totals AS (SELECT player, SUM(points) AS total FROM scores GROUP BY player) SELECT player, total, rk
FROM (SELECT player, total, ROW_NUMBER() OVER (ORDER BY total DESC) AS rk FROM totals)
WHERE rk <= 2;

SELECT game, player, points
FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, game ORDER BY points DESC) AS r FROM TABLE(TUMBLE(TABLE scores, DESCRIPTOR(ts), INTERVAL '1' MINUTE)))
WHERE r = 1;

SELECT player, SUM(points) AS s FROM scores GROUP BY player ORDER BY s DESC LIMIT 1;

SELECT DISTINCT game FROM scores;
