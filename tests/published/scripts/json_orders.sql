CREATE TABLE raw_events (doc STRING) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO raw_events VALUES
  ('{"id": 1, "customer": {"name": "Ann", "tags": ["a", "b"]}, "price": 3.5, "ok": true}'),
  ('{"id": 2, "price": null}'),
  ('no json');

SELECT
  JSON_VALUE(doc, '$.id' RETURNING INT) AS id,
  JSON_VALUE(doc, '$.customer.name' DEFAULT 'nobody' ON EMPTY DEFAULT 'bad' ON ERROR) AS name,
  JSON_QUERY(doc, '$.customer.tags') AS tags,
  JSON_EXISTS(doc, '$.price') AS has_price,
  doc IS JSON OBJECT AS is_object,
  JSON_VALUE(doc, '$.price' RETURNING DOUBLE) AS price
FROM raw_events;

SELECT
  JSON_OBJECTAGG(KEY JSON_VALUE(doc, '$.id') VALUE CHAR_LENGTH(doc)) AS agg,
  JSON_ARRAYAGG(JSON_VALUE(doc, '$.price')) AS prices
FROM raw_events
WHERE doc IS JSON;
