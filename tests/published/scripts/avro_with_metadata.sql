CREATE TABLE parcels (
  parcel_id STRING,
  weight STRING,
  `packed_at` TIMESTAMP(3) METADATA FROM 'timestamp',
  WATERMARK FOR packed_at AS packed_at - INTERVAL '1' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'parcels',
  'properties.bootstrap.servers' = 'broker:9092',
  'properties.group.id' = 'packing',
  'value.format' = 'avro-confluent',
  'value.avro-confluent.url' = 'http://registry:8081/apis/ccompat/v6',
  'scan.startup.mode' = 'latest-offset'
);

CREATE TEMPORARY VIEW weighed (id, grams, packed_at) AS (
  SELECT parcel_id, CAST(TRIM(LEADING '0' FROM weight) AS INT), packed_at FROM parcels
);

SELECT window_end, SUM(grams) AS grams
FROM TABLE(TUMBLE(TABLE weighed, DESCRIPTOR(packed_at), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end;
