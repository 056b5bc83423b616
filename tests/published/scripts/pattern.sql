CREATE TABLE ticker (symbol STRING, price INT, row_time TIMESTAMP(3), WATERMARK FOR row_time AS row_time) WITH ('connector' = 'filesystem', 'path' = '/data/ticker', 'format' = 'json');
INSERT INTO ticker VALUES ('ACME', 12, TIMESTAMP '2025-01-01 10:00:00'), ('ACME', 9, TIMESTAMP '2025-01-01 10:00:01'), ('ACME', 8, TIMESTAMP '2025-01-01 10:00:02'), ('ACME', 11, TIMESTAMP '2025-01-01 10:00:03');
SELECT symbol, lowest FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY row_time MEASURES LAST(DOWN.price) AS lowest
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (TOP DOWN+ UP)
  DEFINE DOWN AS DOWN.price < LAST(DOWN.price, 1) OR (LAST(DOWN.price, 1) IS NULL AND DOWN.price < TOP.price), UP AS UP.price > LAST(DOWN.price)
) AS m;
