CREATE TABLE baskets (id INT, items ARRAY<STRING>, owner ROW<name STRING, age INT>) WITH ('connector' = 'filesystem', 'path' = '/data/baskets', 'format' = 'json');
INSERT INTO baskets VALUES (1, ARRAY['apple', 'pear'], ROW('Ann', 3)), (2, ARRAY['nut'], ROW('Bob', 4));
SELECT id, item, b.owner.name AS owner_name FROM baskets AS b CROSS JOIN UNNEST(items) AS t (item);
