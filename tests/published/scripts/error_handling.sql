CREATE TABLE raw_orders (k STRING, payload STRING, `partition` BIGINT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL, event_time TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', WATERMARK FOR event_time AS event_time - INTERVAL '5' SECOND) WITH ('connector' = 'kafka', 'topic' = 'raw_orders', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE good (k STRING, qty INT, price DECIMAL(10, 2), PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'good', 'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'raw', 'value.format' = 'avro-confluent', 'value.avro-confluent.url' = 'http://registry:8081');
CREATE TABLE dead_letters (k STRING, payload STRING, reason STRING) WITH ('connector' = 'kafka', 'topic' = 'dead', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE VIEW parsed AS SELECT k, payload, TRY_CAST(JSON_VALUE(payload, '$.qty') AS INT) AS qty, TRY_CAST(JSON_VALUE(payload, '$.price') AS DECIMAL(10, 2)) AS price FROM raw_orders;
EXECUTE STATEMENT SET BEGIN
INSERT INTO good SELECT k, qty, price FROM parsed WHERE qty IS NOT NULL AND price IS NOT NULL;
INSERT INTO dead_letters SELECT k, payload, CASE WHEN qty IS NULL THEN 'no quantity' ELSE 'no price' END FROM parsed WHERE qty IS NULL OR price IS NULL;
END;
