CREATE TABLE taps (bar STRING, litres DOUBLE, at_time TIMESTAMP(3), WATERMARK FOR at_time AS at_time) WITH ('connector' = 'filesystem', 'path' = '/data/taps', 'format' = 'json');
INSERT INTO taps VALUES ('b1', 0.5, TIMESTAMP '2025-01-01 20:01:00'), ('b1', 0.3, TIMESTAMP '2025-01-01 20:11:00'), ('b2', 0.4, TIMESTAMP '2025-01-01 20:12:00');
SELECT window_start, window_end, SUM(litres) AS litres
FROM TABLE(CUMULATE(TABLE taps, DESCRIPTOR(at_time), INTERVAL '10' MINUTES, INTERVAL '1' HOUR))
GROUP BY window_start, window_end;
