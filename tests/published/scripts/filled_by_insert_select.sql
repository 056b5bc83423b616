-- A topic is cleaned into a second one, from which a report reads.
CREATE TABLE raw_visits (page STRING, ms BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'visits', 'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
CREATE TABLE slow_visits (page STRING, ms BIGINT) WITH (
  'connector' = 'kafka', 'topic' = 'slow', 'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'json'
);
INSERT INTO raw_visits VALUES ('home', 20), ('cart', 700), ('home', 900), ('cart', 650);
INSERT INTO slow_visits SELECT page, ms FROM raw_visits WHERE ms > 500;
SELECT page, COUNT(*) AS visits, MAX(ms) AS slowest FROM slow_visits GROUP BY page;
