CREATE TABLE clicks (
  `ts` TIMESTAMP(3) METADATA FROM 'timestamp',
  `timestamp` BIGINT NOT NULL METADATA,
  `partition` BIGINT METADATA VIRTUAL,
  `offset` STRING METADATA VIRTUAL,
  user_id BIGINT,
  `at_hour` AS DATE_FORMAT(`ts`, 'yyyy-MM-dd HH'),
  WATERMARK FOR `ts` AS `ts` - INTERVAL '5' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'clicks',
  'properties.bootstrap.servers' = 'broker:9092',
  'properties.group.id' = 'reader',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'csv'
);

SELECT window_start, `partition`, COUNT(*) AS clicks, MAX(`timestamp`) AS last_second, MAX(`offset`) AS last_offset
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(`ts`), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, `partition`;
