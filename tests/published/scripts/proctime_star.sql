CREATE TABLE bids (item STRING, price INT, proc AS PROCTIME()) WITH ('connector' = 'filesystem', 'path' = '/data/bids', 'format' = 'csv');
INSERT INTO bids VALUES ('vase', 4), ('lamp', 7), ('vase', 9);
SELECT item, price FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY proc DESC) AS rn FROM bids
) WHERE rn = 1;
