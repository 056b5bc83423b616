-- A topic whose amounts came as texts: compared with numbers they are numbers, as whole ones beside whole numbers.
CREATE TABLE payments (
  payer STRING,
  amount STRING,
  least INT,
  fee DECIMAL(6, 2),
  ratio DOUBLE,
  paid_at TIMESTAMP(3),
  WATERMARK FOR paid_at AS paid_at
) WITH ('connector' = 'filesystem', 'path' = '/data/payments', 'format' = 'json');

INSERT INTO payments VALUES
  ('ann', '1', 1, 0.50, 1.5, TIMESTAMP '2025-02-01 10:00:00'),
  ('ann', '9', 2, 9.00, 9.0, TIMESTAMP '2025-02-01 10:00:01'),
  ('ann', '2.9', 2, 2.85, 2.85, TIMESTAMP '2025-02-01 10:00:02'),
  ('ann', '3000000000', 3, 1.00, 3e9, TIMESTAMP '2025-02-01 10:00:03'),
  ('ann', CAST(NULL AS STRING), 3, 1.00, 1.0, TIMESTAMP '2025-02-01 10:00:04'),
  ('ann', '40', 1, 39.99, 40.5, TIMESTAMP '2025-02-01 10:00:05');

SELECT amount, amount > least AS a, amount <= 2 AS b, fee < amount AS c, amount >= ratio AS d, amount > 2.85 AS e
FROM payments;

SELECT amount FROM payments WHERE least BETWEEN amount AND 100 OR TRIM(amount) > 8;

SELECT * FROM payments MATCH_RECOGNIZE (
  PARTITION BY payer ORDER BY paid_at
  MEASURES AVG(CAST(USUAL.amount AS BIGINT)) AS usual, BIG.amount AS big
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (USUAL+? BIG)
  DEFINE BIG AS BIG.amount > AVG(CAST(USUAL.amount AS BIGINT)) * 3
);
