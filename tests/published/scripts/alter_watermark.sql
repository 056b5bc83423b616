CREATE TABLE clicks (who STRING, at_time TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '/data/clicks', 'format' = 'json');
ALTER TABLE clicks ADD WATERMARK FOR at_time AS at_time - INTERVAL '2' SECOND;
INSERT INTO clicks VALUES ('ann', TIMESTAMP '2025-05-01 12:00:01'), ('bob', TIMESTAMP '2025-05-01 12:00:04'), ('ann', TIMESTAMP '2025-05-01 12:00:14');
SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(at_time), INTERVAL '10' SECOND)) GROUP BY window_start, window_end;
