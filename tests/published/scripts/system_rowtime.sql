-- A table of Confluent's: buckets, and a column of arrival that it does not declare.
CREATE TABLE shoes (id INT, brand STRING, price DOUBLE) DISTRIBUTED BY HASH(id) INTO 3 BUCKETS;
INSERT INTO shoes VALUES (1, 'a', 10.0), (2, 'b', 5.5), (3, 'a', 7.25);
SELECT window_start, window_end, brand, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE shoes, DESCRIPTOR($rowtime), INTERVAL '10' MINUTES))
GROUP BY window_start, window_end, brand;
