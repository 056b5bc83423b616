SET;
SET 'execution.runtime-mode' = 'batch';

CREATE TABLE draws (
  id STRING NOT NULL,
  luck DOUBLE,
  number_drawn INT,
  drawn_at TIMESTAMP_LTZ(3),
  drawn_on DATE,
  told_at TIMESTAMP(3)
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'draws',
  'properties.bootstrap.servers' = 'broker:9092',
  'key.format' = 'json',
  'value.format' = 'json'
);

INSERT INTO draws VALUES
  (UUID(), RAND(), RAND_INTEGER(49), CURRENT_TIMESTAMP, CURRENT_DATE, LOCALTIMESTAMP),
  (UUID(), RAND(7), RAND_INTEGER(7, 49), NOW(), DATE '2024-01-02', TO_TIMESTAMP('2024-01-02 10:00:00'));

INSERT INTO draws (id, drawn_at) VALUES ('last', TO_TIMESTAMP_LTZ(1704067200, 0));

SELECT COUNT(DISTINCT id) AS draws, COUNT(luck) AS lucky FROM draws;
