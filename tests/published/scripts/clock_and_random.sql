-- The time of the day, and random values, in computed columns and in queries.
SET 'studio.clock' = '2025-03-01 12:00:00';
CREATE TABLE orders (
  id INT,
  ordered AS CURRENT_TIMESTAMP,
  shipped AS TIMESTAMPADD(HOUR, CAST(FLOOR(RAND() * 4) AS INT), LOCALTIMESTAMP)
) WITH ('connector' = 'datagen', 'number-of-rows' = '5', 'fields.id.kind' = 'sequence', 'fields.id.start' = '1',
  'fields.id.end' = '5', 'rows-per-second' = '1');
CREATE TABLE visits (name STRING, seen AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 'v', 'format' = 'json');
INSERT INTO visits VALUES ('a'), ('b');
CREATE TABLE o (name STRING, seen TIMESTAMP_LTZ(3), d DATE, s BIGINT, r INT, u STRING) WITH ('connector' = 'print');
INSERT INTO o
SELECT name, seen, CURRENT_DATE, UNIX_TIMESTAMP(), RAND_INTEGER(10), UUID() FROM visits WHERE seen <= NOW();
SELECT * FROM orders WHERE ordered < CURRENT_TIMESTAMP;
