CREATE TABLE sales (shop STRING, product STRING, amount INT) WITH ('connector' = 'filesystem', 'path' = '/data/sales', 'format' = 'json');
INSERT INTO sales VALUES ('n', 'tea', 3), ('n', 'milk', 5), ('s', 'tea', 1), ('n', 'salt', 4);
SELECT shop, product, amount FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY shop ORDER BY amount DESC) AS place FROM sales
) WHERE place <= 2;
