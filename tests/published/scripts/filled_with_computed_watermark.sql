-- A table with a computed event time is filled by a query and read again in windows.
CREATE TABLE texts (id INT, told STRING, amount INT) WITH (
  'connector' = 'kafka',
  'topic' = 'texts',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE payments (
  id BIGINT,
  `when` STRING,
  cents INT,
  ts AS TO_TIMESTAMP(`when`),
  euros AS cents / 100,
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'payments',
  'properties.bootstrap.servers' = 'localhost:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO texts VALUES
  (1, '2024-05-01 10:00:10', 3),
  (2, '2024-05-01 10:00:07', 4),
  (3, '2024-05-01 10:01:30', 5),
  (4, '2024-05-01 10:01:27', 6),
  (5, '2024-05-01 10:02:00', 7);

INSERT INTO payments (`when`, cents, id) SELECT told, amount * 100, id FROM texts WHERE id <> 2;

SELECT window_start, window_end, COUNT(*) AS n, SUM(euros) AS euros
FROM TABLE(TUMBLE(TABLE payments, DESCRIPTOR(ts), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;

SELECT id, ts, euros FROM payments;
