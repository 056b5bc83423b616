CREATE TABLE t (id INT, name STRING) WITH ('connector' = 'kafka', 'topic' = 'changes', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (1, 'a');
CREATE VIEW c AS SELECT name, COUNT(*) AS n FROM t GROUP BY name;
SELECT * FROM TO_CHANGELOG(input => TABLE c);
SELECT * FROM TO_CHANGELOG(input => TABLE t);
SELECT * FROM TO_CHANGELOG(input => TABLE c, op => DESCRIPTOR(kind), op_mapping => MAP['INSERT','I','UPDATE_AFTER','U']);
SELECT op, name FROM TO_CHANGELOG(input => TABLE c, op_mapping => MAP['INSERT, UPDATE_AFTER','W', 'DELETE','D']) WHERE n > 0;
SELECT op, COUNT(*) AS m FROM TO_CHANGELOG(input => (SELECT name, COUNT(*) AS n FROM t GROUP BY name)) GROUP BY op;
