CREATE TABLE unwrapped (id INT, name STRING, __op STRING, __deleted STRING, __ts_ms BIGINT) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO unwrapped VALUES
  (1, 'a', 'c', 'false', 1704067200000),
  (1, 'b', 'u', 'false', 1704067201000),
  (2, 'x', 'c', 'false', 1704067202000),
  (1, 'b', 'd', 'true', 1704067203000);

SELECT id, name, __op FROM unwrapped WHERE __deleted = 'false';

SELECT __op, COUNT(*) AS n, MAX(__ts_ms) AS latest FROM unwrapped GROUP BY __op;
