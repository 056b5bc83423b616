CREATE TABLE nested (`id` STRING, `payload` ROW<`user` ROW<`name` STRING, `age` INT>, `items` ARRAY<ROW<`sku` STRING, `qty` INT>>, `meta` MAP<STRING, STRING>>, `name` AS payload.`user`.`name`) WITH ('connector' = 'kafka', 'topic' = 'nested', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO nested VALUES ('a', ROW(ROW('ada', 36), ARRAY[ROW('s1', 2), ROW('s2', 1)], MAP['k', 'v'])), ('b', ROW(ROW('bob', 25), ARRAY[ROW('s1', 5)], MAP['k', 'w']));
SELECT id, name, payload.`user`.age AS age, payload.items[1].sku AS first_sku, payload.meta['k'] AS k FROM nested;
SELECT n.id, i.sku, i.qty FROM nested AS n CROSS JOIN UNNEST(n.payload.items) AS i (sku, qty);
SELECT i.sku, SUM(i.qty) AS qty FROM nested AS n, UNNEST(n.payload.items) AS i (sku, qty) GROUP BY i.sku;
