SET 'table.local-time-zone' = 'America/New_York';

-- What a CAST in VALUES changes, and what only a zone tells.
SELECT * FROM (VALUES
  (CAST(1.7 AS INT), CAST(1.50 AS STRING), CAST(TRUE AS STRING), CAST(TIMESTAMP '2024-03-10 10:00:00' AS STRING),
   CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING), CAST(TIMESTAMP '2024-03-10 10:00:00' AS DATE), CAST(' 12 ' AS INT)),
  (CAST(-2.5 AS INT), 'x', 'y', CAST(TO_TIMESTAMP('2024-03-10 10:00:00') AS STRING),
   CAST(CAST(TO_TIMESTAMP_LTZ(0, 3) AS DATE) AS STRING), DATE '2024-01-01', 1)
) AS v (a, b, c, d, e, f, g);

CREATE TABLE calls (
  id INT,
  begun TIMESTAMP_LTZ(3),
  shown TIMESTAMP(3)
) WITH (
  'connector' = 'kafka',
  'topic' = 'calls',
  'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

INSERT INTO calls VALUES
  (1, CAST(TIMESTAMP '2024-03-10 02:30:00' AS TIMESTAMP_LTZ(3)), CAST(TO_TIMESTAMP_LTZ(1710053999000, 3) AS TIMESTAMP(3))),
  (2, TO_TIMESTAMP_LTZ('2024-03-10 02:30:00'), TIMESTAMP '2024-03-10 02:30:00');

SELECT id, CAST(begun AS STRING) AS begun, CAST(shown AS STRING) AS shown FROM calls;
