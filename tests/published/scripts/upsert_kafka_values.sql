CREATE TABLE stock (item INT, pieces INT, PRIMARY KEY (item) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'stock', 'properties.bootstrap.servers' = 'broker:9092',
  'key.format' = 'json', 'value.format' = 'json'
);
INSERT INTO stock VALUES (1, 10), (2, 20);
INSERT INTO stock VALUES (1, 11);
SELECT COUNT(*) AS items, SUM(pieces) AS pieces FROM stock;
