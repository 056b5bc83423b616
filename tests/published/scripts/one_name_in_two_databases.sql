-- Two databases, each with its own orders, as a guide to catalogs shows them; a name alone is that of the database in use.
CREATE DATABASE shop_eu;
CREATE DATABASE shop_us;

CREATE TABLE shop_eu.orders (
  id INT,
  amount INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'eu',
  'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

USE shop_us;

CREATE TABLE orders (
  id INT,
  dollars INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'us',
  'properties.bootstrap.servers' = 'broker:9092',
  'format' = 'json'
);

INSERT INTO orders VALUES (1, 10), (2, 20);
INSERT INTO default_catalog.shop_eu.orders VALUES (1, 7), (2, 9), (3, 11);

CREATE VIEW expensive AS SELECT orders.id, dollars FROM orders WHERE orders.dollars > 10;

SELECT id, amount FROM shop_eu.orders;

SELECT * FROM expensive;

SELECT e.id, e.amount, u.dollars FROM shop_eu.orders AS e, shop_us.orders u WHERE e.id = u.id;

USE shop_eu;

SELECT COUNT(*) AS n, SUM(amount) AS total FROM orders;

SELECT SUM(dollars) AS total FROM shop_us.orders WHERE orders.id < 3;
