CREATE TABLE parcels (id INT, weight INT) WITH ('connector' = 'filesystem', 'path' = '/data/parcels', 'format' = 'json');
ALTER TABLE parcels ADD (town STRING, grams AS weight * 1000);
ALTER TABLE parcels SET ('json.ignore-parse-errors' = 'true');
ALTER TABLE parcels RENAME town TO city;
ALTER TABLE parcels MODIFY weight BIGINT;
ALTER TABLE parcels RENAME TO packages;
INSERT INTO packages VALUES (1, 2, 'Ulm'), (2, 5, 'Ulm');
SELECT city, SUM(grams) AS grams FROM packages GROUP BY city;
