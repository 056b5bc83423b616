CREATE TABLE users (id STRING, region STRING) WITH (
  'connector' = 'kafka', 'topic' = 'users', 'properties.bootstrap.servers' = 'kafka:29092',
  'scan.startup.mode' = 'earliest-offset', 'format' = 'avro-confluent', 'avro-confluent.url' = 'http://schema-registry:8081'
);
CREATE TABLE per_region (region STRING, n BIGINT, PRIMARY KEY (region) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'regions', 'properties.bootstrap.servers' = 'kafka:29092',
  'key.format' = 'avro-confluent', 'key.avro-confluent.url' = 'http://schema-registry:8081',
  'value.format' = 'avro-confluent', 'value.avro-confluent.url' = 'http://schema-registry:8081'
);
INSERT INTO users VALUES ('u1', 'north'), ('u2', 'south'), ('u3', 'north');
INSERT INTO per_region SELECT region, COUNT(*) FROM users GROUP BY region;
SELECT * FROM per_region;
