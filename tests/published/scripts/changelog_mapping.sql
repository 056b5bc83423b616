CREATE TABLE cdc (id INT, kind STRING, name STRING) WITH ('connector' = 'kafka', 'topic' = 'cdc', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO cdc VALUES (1, 'c', 'a'), (2, 'r', 'b'), (1, 'ub', 'a'), (1, 'ua', 'c'), (2, 'd', 'b');
SELECT id, name FROM FROM_CHANGELOG(input => TABLE cdc, op => DESCRIPTOR(kind), op_mapping => MAP['c, r', 'INSERT', 'ub', 'UPDATE_BEFORE', 'ua', 'UPDATE_AFTER', 'd', 'DELETE']);
