-- The cells of a notebook of Confluent's, one below the other.
CREATE TABLE readings (
  sensor STRING,
  degrees INT,
  WATERMARK FOR `$rowtime` AS `$rowtime` - INTERVAL '5' SECOND
) DISTRIBUTED INTO 2 BUCKETS WITH (
  'value.format' = 'avro-registry'
)

INSERT INTO readings VALUES ('roof', 20), ('cellar', 12), ('roof', 22)

SHOW CREATE TABLE readings

DESCRIBE EXTENDED readings

SELECT sensor, degrees, `$rowtime` AS at_time FROM readings

SELECT window_start, sensor, AVG(degrees) AS degrees
FROM TABLE(TUMBLE(TABLE readings, DESCRIPTOR(`$rowtime`), INTERVAL '1' MINUTE))
GROUP BY window_start, window_end, sensor

SET 'sql.state-ttl' = '1 d'

SELECT sensor, MAX(degrees) AS warmest FROM readings GROUP BY sensor
