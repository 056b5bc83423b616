-- Lookups in two databases, one of which is not read here, then windows of processing time over the rows found.
CREATE TABLE clicks (user_id INT, page STRING, seen AS PROCTIME()) WITH ('connector' = 'datagen', 'rows-per-second' = '5', 'number-of-rows' = '20', 'fields.user_id.min' = '1', 'fields.user_id.max' = '3');
CREATE TABLE visits (user_id INT, page STRING, seen AS PROCTIME()) WITH ('connector' = 'datagen', 'rows-per-second' = '2', 'number-of-rows' = '6');
CREATE TABLE users (user_id INT, country STRING, PRIMARY KEY (user_id) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://db:3306/shop', 'table-name' = 'users', 'username' = 'reader');
CREATE TABLE regions (country STRING, region STRING) WITH ('connector' = 'jdbc', 'url' = 'jdbc:oracle:thin:@//db:1521/shop', 'table-name' = 'regions');
CREATE TABLE per_region (region STRING, started TIMESTAMP(3), clicks BIGINT) WITH ('connector' = 'print');
CREATE TABLE recent (user_id INT, country STRING, recently BIGINT) WITH ('connector' = 'print');

CREATE VIEW every_click AS SELECT user_id, page, seen FROM clicks UNION ALL SELECT user_id, page, seen FROM visits;
CREATE VIEW enriched AS
SELECT c.user_id, c.page, u.country, r.region, c.seen
FROM every_click AS c
LEFT JOIN users FOR SYSTEM_TIME AS OF c.seen AS u ON c.user_id = u.user_id
LEFT JOIN regions FOR SYSTEM_TIME AS OF c.seen AS r ON u.country = r.country;

INSERT INTO per_region
SELECT region, window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE enriched, DESCRIPTOR(seen), INTERVAL '1' SECOND)) GROUP BY window_start, window_end, region;
INSERT INTO recent
SELECT user_id, country, COUNT(*) OVER (PARTITION BY country ORDER BY seen RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW) FROM enriched;
