SET 'table.exec.mini-batch.enabled' = 'false';

CREATE TABLE sensors (id STRING, temp DOUBLE, ts BIGINT, rt AS TO_TIMESTAMP_LTZ(ts, 3), WATERMARK FOR rt AS rt - INTERVAL '1' SECOND) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO sensors VALUES
  ('s1', 20.5, 1704067200000),
  ('s2', 99.9, 1704067201000),
  ('s1', 75.25, 1704067210000),
  ('s2', 10, 1704067205000),
  ('s1', 30, 1704067230000);

SELECT id, MAX(temp) AS hottest, CAST(MAX(rt) AS STRING) AS at_, COUNT(*) AS n
FROM sensors
GROUP BY id;

SELECT
  id,
  temp,
  CAST(rt AS STRING) AS t,
  FLOOR(temp) AS f,
  CEIL(temp) AS c,
  POWER(temp, 2) AS p,
  temp > 50 AS is_hot,
  CAST(window_start AS STRING) AS ws
FROM TABLE(TUMBLE(TABLE sensors, DESCRIPTOR(rt), INTERVAL '10' SECOND))
WHERE temp IS NOT NULL;

SELECT
  CAST(window_start AS STRING) AS ws,
  CAST(window_end AS STRING) AS we,
  AVG(temp) AS mean,
  STDDEV_POP(temp) AS sd,
  VAR_SAMP(temp) AS v
FROM TABLE(CUMULATE(TABLE sensors, DESCRIPTOR(rt), INTERVAL '10' SECOND, INTERVAL '30' SECOND))
GROUP BY window_start, window_end;
