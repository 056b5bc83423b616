-- A tutorial's tables at places of its author: a folder of that machine, Hadoop, a broker still to be named, a cloud's topic.
CREATE TABLE shops (
  id INT,
  town STRING
) WITH (
  'connector' = 'filesystem',
  'path' = '/nowhere/shops.csv',
  'format' = 'csv'
);

CREATE TABLE old_sales (
  shop INT,
  amount INT
) WITH (
  'connector' = 'filesystem',
  'path' = 'hdfs:///nowhere/sales.csv',
  'format' = 'csv'
);

CREATE TABLE sales (
  shop INT,
  amount INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'sales',
  'properties.bootstrap.servers' = '...',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE cloud_sales (
  shop INT,
  amount INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'sales',
  'properties.bootstrap.servers' = 'broker.example.com:9092',
  'properties.security.protocol' = 'SASL_SSL',
  'properties.sasl.mechanism' = 'PLAIN',
  'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="reader" password="hush";',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE TABLE java_sales (
  shop INT,
  amount INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'sales',
  'properties.bootstrap.servers' = 'broker.example.com:9093',
  'properties.security.protocol' = 'SSL',
  'properties.ssl.truststore.location' = '/certificates/truststore.jks',
  'properties.ssl.truststore.password' = 'hush',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

CREATE VIEW all_sales AS
SELECT * FROM sales
UNION ALL
SELECT * FROM cloud_sales
UNION ALL
SELECT * FROM java_sales
UNION ALL
SELECT * FROM old_sales;

SELECT town, SUM(amount) AS amount
FROM all_sales
JOIN shops ON shop = id
GROUP BY town;
