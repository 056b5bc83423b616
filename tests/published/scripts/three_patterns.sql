CREATE TABLE ticker (symbol STRING, rowtime TIMESTAMP(3), price INT, tax INT, WATERMARK FOR rowtime AS rowtime) WITH ('connector' = 'kafka', 'topic' = 'ticker', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO ticker VALUES ('ACME', TIMESTAMP '2024-01-01 10:00:00', 12, 1), ('ACME', TIMESTAMP '2024-01-01 10:00:01', 17, 2), ('ACME', TIMESTAMP '2024-01-01 10:00:02', 19, 1), ('ACME', TIMESTAMP '2024-01-01 10:00:03', 21, 3), ('ACME', TIMESTAMP '2024-01-01 10:00:04', 18, 2), ('ACME', TIMESTAMP '2024-01-01 10:00:05', 15, 1), ('ACME', TIMESTAMP '2024-01-01 10:00:06', 14, 2), ('ACME', TIMESTAMP '2024-01-01 10:00:07', 24, 2), ('ACME', TIMESTAMP '2024-01-01 10:00:08', 25, 2), ('ACME', TIMESTAMP '2024-01-01 10:00:09', 19, 1);
SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY rowtime
  MEASURES START_ROW.rowtime AS start_tstamp, LAST(PRICE_DOWN.rowtime) AS bottom_tstamp, LAST(PRICE_UP.rowtime) AS end_tstamp
  ONE ROW PER MATCH AFTER MATCH SKIP TO LAST PRICE_UP
  PATTERN (START_ROW PRICE_DOWN+ PRICE_UP)
  DEFINE PRICE_DOWN AS (LAST(PRICE_DOWN.price, 1) IS NULL AND PRICE_DOWN.price < START_ROW.price) OR PRICE_DOWN.price < LAST(PRICE_DOWN.price, 1),
    PRICE_UP AS PRICE_UP.price > LAST(PRICE_DOWN.price, 1)
) MR;
SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY rowtime
  MEASURES FIRST(A.rowtime) AS start_tstamp, LAST(A.rowtime) AS end_tstamp, AVG(A.price) AS avgPrice
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A+ B) DEFINE A AS AVG(A.price) < 15
) MR;
SELECT * FROM ticker MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY rowtime
  MEASURES FIRST(A.price) AS startPrice, TOP.price AS topPrice, B.price AS lastPrice, LAST(A.price, 1) AS beforeLast
  ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
  PATTERN (A+? B TOP) DEFINE B AS B.price * 2 > SUM(A.price), TOP AS TOP.price > B.price
);
