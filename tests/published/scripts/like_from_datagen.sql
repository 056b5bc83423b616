CREATE TABLE meters (id INT, volts DOUBLE, taken TIMESTAMP(3)) WITH (
  'connector' = 'kafka', 'topic' = 'meters', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json');
CREATE TEMPORARY TABLE meters_gen WITH ('connector' = 'datagen', 'number-of-rows' = '10') LIKE meters (EXCLUDING ALL);
INSERT INTO meters SELECT * FROM meters_gen;
SELECT COUNT(*) AS n FROM meters;
