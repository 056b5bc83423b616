-- studio.rows: []
CREATE TABLE payments (id BIGINT, amount DOUBLE) WITH (
  'connector' = 'kafka', 'topic' = 'payments', 'properties.bootstrap.servers' = 'kafka:29092',
  'scan.startup.mode' = 'earliest-offset', 'value.format' = 'avro-confluent', 'value.avro-confluent.url' = 'http://schema-registry:8081'
);
SELECT COUNT(*) AS n, SUM(amount) AS total FROM payments;
