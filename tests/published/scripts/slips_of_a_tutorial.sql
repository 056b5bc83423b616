-- Both forms of a tutorial's table in one text, and a semicolon within a query.
CREATE TABLE rides (
  id INT,
  city STRING,
  fare INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'rides',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);

CREATE TABLE dear_rides (
  id INT,
  city STRING
) WITH (
  'connector' = 'kafka',
  'topic' = 'dear-rides',
  'properties.bootstrap.servers' = 'localhost:9092',
  'format' = 'json'
);

INSERT INTO dear_rides SELECT id, city FROM rides WHERE fare > 10;

CREATE TABLE rides (
  id INT,
  city STRING,
  fare INT
);

INSERT INTO rides VALUES (1, 'Bern', 8), (2, 'Basel', 14), (3, 'Bern', 21);

SELECT r.city, COUNT(*) AS rides
FROM rides AS r
WHERE r.fare > 5;
GROUP BY r.city;
