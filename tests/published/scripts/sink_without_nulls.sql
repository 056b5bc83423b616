-- A guide to bad rows: those that the sink's NOT NULL would refuse are dropped, and the job goes on.
CREATE TABLE readings (
  sensor STRING,
  degrees DOUBLE
) WITH (
  'connector' = 'kafka',
  'topic' = 'readings',
  'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

CREATE TABLE clean_readings (
  sensor STRING NOT NULL,
  degrees DOUBLE NOT NULL,
  note STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'clean_readings',
  'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

INSERT INTO readings VALUES ('a', 1.5), (CAST(NULL AS STRING), 2.5), ('b', CAST(NULL AS DOUBLE)), ('c', 4.5);

SET 'table.exec.sink.not-null-enforcer' = 'DROP';

INSERT INTO clean_readings SELECT sensor, degrees, CAST(NULL AS STRING) FROM readings;

SELECT * FROM clean_readings;

SELECT COUNT(*) AS n FROM clean_readings;
