-- Kinds of columns that datagen has in examples, and comments within a type.
CREATE TABLE orders (
  n BIGINT,
  buyer ROW<
    first_name STRING, -- as given
    last_name STRING /* or family name */, age INT>,
  tags ARRAY<STRING>,
  stock MAP<STRING, INT>,
  opens TIME(0),
  born DATE
) WITH (
  'connector' = 'datagen',
  'number-of-rows' = '4',
  'rows-per-second' = '2',
  'fields.n.kind' = 'sequence',
  'fields.n.start' = '1',
  'fields.n.end' = '4'
);
CREATE TABLE payments (n BIGINT, paid INT) WITH ('connector' = 'datagen', 'number-of-rows' = '4');
SELECT n, CHAR_LENGTH(buyer.last_name) AS letters, CARDINALITY(tags) AS tags, CARDINALITY(stock) AS kinds FROM orders;
SELECT /*+ STATE_TTL(o = '1 h', p = '2 h') */ o.n, p.paid FROM orders AS o JOIN payments AS p ON o.n = p.n;
