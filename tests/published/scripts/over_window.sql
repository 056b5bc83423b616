CREATE TABLE temps (place STRING, degrees INT, at_time TIMESTAMP(3), WATERMARK FOR at_time AS at_time) WITH ('connector' = 'filesystem', 'path' = '/data/temps', 'format' = 'json');
INSERT INTO temps VALUES ('a', 10, TIMESTAMP '2025-01-01 00:00:00'), ('a', 20, TIMESTAMP '2025-01-01 00:01:00'), ('a', 60, TIMESTAMP '2025-01-01 00:02:00');
SELECT place, AVG(degrees) OVER w AS recent FROM temps
WINDOW w AS (PARTITION BY place ORDER BY at_time ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);
