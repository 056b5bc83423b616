CREATE TABLE payments (account STRING, amount DECIMAL(10, 2), paid_at TIMESTAMP(3), WATERMARK FOR paid_at AS paid_at - INTERVAL '5' SECOND) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO payments VALUES
 ('a', 900.50, TIMESTAMP '2024-01-01 10:00:01'),
  ('b', 20, TIMESTAMP '2024-01-01 10:00:03'),
  ('a', 450, TIMESTAMP '2024-01-01 10:03:00'),
 ('a', 12.25, TIMESTAMP '2024-01-01 10:11:00'),
  ('b', 5000, TIMESTAMP '2024-01-01 10:12:00'),
  ('a', 1, TIMESTAMP '2024-01-01 10:09:59'),
  ('c', 1, TIMESTAMP '2024-01-01 10:31:00');

SELECT
  account,
  SUM(amount) AS total,
  TUMBLE_START(paid_at, INTERVAL '10' MINUTE) AS s,
  TUMBLE_END(paid_at, INTERVAL '10' MINUTE) AS e,
  TUMBLE_ROWTIME(paid_at, INTERVAL '10' MINUTE) AS r
FROM payments
GROUP BY account, TUMBLE(paid_at, INTERVAL '10' MINUTE)
HAVING SUM(amount) > 1000;

SELECT
  account,
  CASE WHEN amount > 1000 THEN 'large' WHEN amount BETWEEN 100 AND 1000 THEN 'medium' ELSE 'small' END AS size_,
  amount * 1.19 AS gross,
  ROUND(amount / 3, 1) AS third,
  MOD(CAST(amount AS INT), 7) AS m
FROM payments;
