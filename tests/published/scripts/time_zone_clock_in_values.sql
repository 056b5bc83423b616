SET 'table.local-time-zone' = 'America/New_York';
-- What a clock shows is not compared with Flink's, whose clock goes on.
SET 'studio.clock' = '2024-03-10 03:30:00';

SELECT * FROM (VALUES (CURRENT_DATE, CAST(CURRENT_TIMESTAMP AS STRING), LOCALTIMESTAMP)) AS v (a, b, c);
