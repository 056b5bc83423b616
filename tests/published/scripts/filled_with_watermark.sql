CREATE TABLE raw_clicks (id INT, ts BIGINT, kind STRING) WITH ('connector' = 'kafka', 'topic' = 'raw_clicks', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
CREATE TABLE good (id INT, kind STRING, ts BIGINT, event_time TIMESTAMP(3), WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND) WITH ('connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json');
INSERT INTO raw_clicks VALUES (1,1000,'a'),(2,20000,'b'),(1,70000,'a'),(3,2000,'a');
INSERT INTO good (event_time, id, kind, ts) SELECT CAST(TO_TIMESTAMP_LTZ(r.ts, 3) AS TIMESTAMP(3)), r.id, UPPER(r.kind), r.ts FROM raw_clicks AS r WHERE r.kind <> 'x';
SELECT window_start, kind, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE good, DESCRIPTOR(event_time), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end, kind;
SELECT * FROM raw_clicks;
SELECT * FROM good;
