CREATE TABLE cdc (id INT, op STRING, name STRING) WITH ('connector' = 'kafka', 'topic' = 'cdc', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO cdc VALUES (1, 'INSERT', 'a'), (2, 'INSERT', 'b'), (1, 'UPDATE_BEFORE', 'a'), (1, 'UPDATE_AFTER', 'c'), (2, 'DELETE', 'b');
SELECT * FROM FROM_CHANGELOG(input => TABLE cdc);
SELECT name, COUNT(*) AS n FROM FROM_CHANGELOG(input => TABLE cdc, op => DESCRIPTOR(op)) GROUP BY name;
CREATE VIEW names AS SELECT UPPER(name) AS shout FROM FROM_CHANGELOG(input => TABLE cdc) WHERE id = 1;
SELECT shout FROM names;
SELECT * FROM FROM_CHANGELOG(input => TABLE cdc, uid => 'changes');
