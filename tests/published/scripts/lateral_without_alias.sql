CREATE TABLE cities (name STRING, state STRING, pop INT) WITH ('connector' = 'kafka', 'topic' = 'cities', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO cities VALUES ('a', 'X', 5), ('b', 'X', 9), ('c', 'Y', 1), ('d', 'X', 7), ('e', 'X', 8);
SELECT state, name FROM (SELECT DISTINCT state FROM cities) states, LATERAL (SELECT name, pop FROM cities WHERE state = states.state ORDER BY pop DESC LIMIT 3);
SELECT state, name, pop FROM (SELECT DISTINCT state FROM cities) AS s, LATERAL (SELECT name, pop FROM cities WHERE state = s.state ORDER BY pop DESC FETCH FIRST 2 ROWS ONLY) AS t;
