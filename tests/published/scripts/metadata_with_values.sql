CREATE TABLE logs (
  line STRING,
  event_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp',
  `partition` INT METADATA VIRTUAL,
  WATERMARK FOR event_time AS event_time
) WITH ('connector' = 'kafka', 'topic' = 'logs', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
INSERT INTO logs VALUES ('a', TO_TIMESTAMP_LTZ(1000, 3)), ('b', TO_TIMESTAMP_LTZ(61000, 3));
SELECT line, event_time FROM logs;
