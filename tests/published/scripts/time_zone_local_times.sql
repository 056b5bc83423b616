-- Windows over a TIMESTAMP have no zone.
SET 'table.local-time-zone' = 'Asia/Tokyo';

CREATE TABLE rides (
  rider STRING,
  ts TIMESTAMP(3),
  km INT,
  WATERMARK FOR ts AS ts
) WITH ('connector' = 'kafka', 'topic' = 'rides', 'format' = 'json');

INSERT INTO rides VALUES
  ('a', TIMESTAMP '2024-05-01 08:00:00', 3),
  ('b', TIMESTAMP '2024-05-01 20:00:00', 4),
  ('a', TIMESTAMP '2024-05-02 08:00:00', 5);

SELECT window_start, window_time, CAST(CAST(window_start AS TIMESTAMP_LTZ(3)) AS STRING) AS a, COUNT(*) AS rides
FROM TABLE(TUMBLE(TABLE rides, DESCRIPTOR(ts), INTERVAL '1' DAY))
GROUP BY window_start, window_end, window_time;
