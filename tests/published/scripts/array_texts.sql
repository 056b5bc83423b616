-- Arrays as arrays of texts: times with the digits of their type, truth values in capitals.
CREATE TABLE readings (
  id INT,
  taken TIMESTAMP(3),
  is_good BOOLEAN
) WITH (
  'connector' = 'kafka',
  'topic' = 'readings',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);

INSERT INTO readings VALUES
  (1, TIMESTAMP '2024-01-01 10:00:00', TRUE),
  (2, TIMESTAMP '2024-01-01 10:00:00.500', FALSE);

SELECT id, CAST(ARRAY[taken] AS ARRAY<STRING>) AS times, CAST(ARRAY[is_good] AS ARRAY<STRING>) AS truths,
  CAST(ARRAY[1.50] AS ARRAY<STRING>) AS numbers
FROM readings;
