-- Fields of rows that are named without their rows, as in a tutorial's first queries; of several, the nearest is read.
CREATE TABLE orders (
  id INT,
  buyer ROW<first_name STRING, last_name STRING, address ROW<street_number INT, first_name STRING>>,
  item ROW<price INT, size ROW<width INT>>,
  box ROW<width INT>
) WITH (
  'connector' = 'kafka',
  'topic' = 'orders',
  'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

INSERT INTO orders VALUES
  (1, ROW('Ann', 'Bell', ROW(3, 'no')), ROW(4, ROW(6)), ROW(60)),
  (2, ROW('Ann', 'Cole', ROW(5, 'no')), ROW(9, ROW(7)), ROW(70)),
  (3, CAST(NULL AS ROW<first_name STRING, last_name STRING, address ROW<street_number INT, first_name STRING>>), ROW(2, ROW(8)), ROW(80));

CREATE VIEW of_bell AS
SELECT id, first_name, street_number, orders.price, size.width AS inner_width
FROM orders
WHERE last_name = 'Bell' AND price > 1;

SELECT * FROM of_bell;

SELECT first_name, MAX(street_number) AS largest FROM orders GROUP BY first_name;

SELECT width, width + 1, orders.first_name FROM orders ORDER BY price LIMIT 2;
