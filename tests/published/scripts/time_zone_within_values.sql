-- Instants within rows, arrays and maps, and times of day of them, in a zone.
SET 'table.local-time-zone' = 'Asia/Tokyo';

CREATE TABLE calls (
  id INT,
  started BIGINT
) WITH (
  'connector' = 'kafka',
  'topic' = 'calls',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);

INSERT INTO calls VALUES (1, 1710023400100), (2, CAST(NULL AS BIGINT)), (3, -1), (4, 1710082799999);

-- A time of day, cut to seconds and with its milliseconds.
SELECT id, CAST(TO_TIMESTAMP_LTZ(started, 3) AS TIME) AS at_time,
  CAST(CAST(TO_TIMESTAMP_LTZ(started, 3) AS TIME(3)) AS STRING) AS exactly
FROM calls;

SELECT id, CAST(ROW(id, TO_TIMESTAMP_LTZ(started, 3)) AS STRING) AS r,
  CAST(ARRAY[TO_TIMESTAMP_LTZ(started, 3)] AS STRING) AS a,
  CAST(MAP[id, TO_TIMESTAMP_LTZ(started, 3)] AS STRING) AS m
FROM calls;

SELECT id, CAST(ARRAY[TO_TIMESTAMP_LTZ(started, 3)] AS ARRAY<STRING>) AS texts,
  CAST(ARRAY[ARRAY[TO_TIMESTAMP_LTZ(started, 3)]] AS ARRAY<ARRAY<STRING>>)[1][1] AS deep,
  CAST(CAST(ARRAY[TO_TIMESTAMP_LTZ(started, 3)] AS ARRAY<TIMESTAMP(3)>) AS STRING) AS shown,
  CAST(CAST(MAP[id, TO_TIMESTAMP_LTZ(started, 3)] AS MAP<INT, TIMESTAMP(3)>) AS STRING) AS held,
  CAST(CAST(ARRAY[CAST(TO_TIMESTAMP_LTZ(started, 3) AS TIMESTAMP(3))] AS ARRAY<TIMESTAMP_LTZ(3)>) AS STRING) AS back
FROM calls WHERE started IS NOT NULL;

SELECT id, CAST(ARRAY[TO_TIMESTAMP_LTZ(started, 3)] AS ARRAY<DATE>)[1] AS its_day FROM calls WHERE started IS NOT NULL;

-- Keys of the zone, and JSON, which is of UTC.
SELECT id, CAST(CAST(MAP[TO_TIMESTAMP_LTZ(started, 3), TO_TIMESTAMP_LTZ(started, 3)] AS MAP<STRING, TIMESTAMP(3)>) AS STRING) AS keyed,
  JSON_OBJECT('at' VALUE TO_TIMESTAMP_LTZ(started, 3), 'all' VALUE ARRAY[TO_TIMESTAMP_LTZ(started, 3)]) AS j
FROM calls WHERE started IS NOT NULL;
