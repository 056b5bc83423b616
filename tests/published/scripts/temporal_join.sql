CREATE TABLE amounts (id INT, currency STRING, amount INT, order_time TIMESTAMP(3), WATERMARK FOR order_time AS order_time) WITH ('connector' = 'filesystem', 'path' = '/data/amounts', 'format' = 'json');
CREATE TABLE rates (currency STRING, rate INT, update_time TIMESTAMP(3), WATERMARK FOR update_time AS update_time, PRIMARY KEY (currency) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'rates', 'properties.bootstrap.servers' = 'localhost:9092', 'key.format' = 'json', 'value.format' = 'json');
INSERT INTO amounts VALUES (1, 'EUR', 2, TIMESTAMP '2025-01-01 00:00:10');
INSERT INTO rates VALUES ('EUR', 100, TIMESTAMP '2025-01-01 00:00:00'), ('EUR', 110, TIMESTAMP '2025-01-01 00:00:20');
SELECT id, amount * rate AS total FROM amounts AS a JOIN rates FOR SYSTEM_TIME AS OF a.order_time AS r ON a.currency = r.currency;
