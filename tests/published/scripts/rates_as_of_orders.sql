-- Rates come as changes from a database; each order takes the rate of its time.
CREATE TABLE rates (
  currency STRING,
  rate DECIMAL(32, 2),
  rated_at TIMESTAMP(3) METADATA FROM `value.source.timestamp` VIRTUAL,
  from_table STRING METADATA FROM 'value.source.table' VIRTUAL,
  PRIMARY KEY (currency) NOT ENFORCED,
  WATERMARK FOR rated_at AS rated_at
) WITH (
  'connector' = 'kafka',
  'topic' = 'rates',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'value.format' = 'debezium-json'
);

CREATE TABLE countries (
  code STRING,
  name STRING,
  known_since TIMESTAMP(3),
  PRIMARY KEY (code) NOT ENFORCED,
  WATERMARK FOR known_since AS known_since - INTERVAL '15' SECOND
) WITH (
  'connector' = 'upsert-kafka',
  'topic' = 'countries',
  'properties.bootstrap.servers' = 'broker:9092',
  'key.format' = 'raw',
  'value.format' = 'json'
);

CREATE TABLE orders (
  order_id STRING,
  price DECIMAL(32, 2),
  currency STRING,
  country STRING,
  ordered_at TIMESTAMP(3),
  WATERMARK FOR ordered_at AS ordered_at - INTERVAL '30' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

SELECT order_id, price * rate AS total, countries.name, ordered_at
FROM orders
LEFT JOIN rates FOR SYSTEM_TIME AS OF orders.ordered_at ON orders.currency = rates.currency
LEFT JOIN countries FOR SYSTEM_TIME AS OF orders.ordered_at ON orders.country = countries.code;
