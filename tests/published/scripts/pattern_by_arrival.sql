-- A pattern in the order of arrival, whose measures show the times.
CREATE TABLE logins (user_id STRING, ok BOOLEAN, arrived AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 'logins', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE alerts (user_id STRING, first_at TIMESTAMP(3), last_at TIMESTAMP(3), tries BIGINT) WITH ('connector' = 'print');
INSERT INTO alerts
SELECT user_id, first_at, last_at, tries
FROM logins MATCH_RECOGNIZE (
  PARTITION BY user_id
  ORDER BY arrived
  MEASURES FIRST(f.arrived) AS first_at, LAST(f.arrived) AS last_at, COUNT(f.ok) AS tries
  ONE ROW PER MATCH
  PATTERN (f{3})
  DEFINE f AS NOT f.ok
) AS t;
