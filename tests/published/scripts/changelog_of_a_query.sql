CREATE TABLE t (op STRING, id INT, name STRING) WITH ('connector' = 'kafka', 'topic' = 'changes', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO t VALUES ('I', 1, 'a'), ('I', 2, 'b'), ('UB', 1, 'a'), ('UA', 1, 'c'), ('D', 2, 'b'), ('I', 3, 'c');
CREATE VIEW ch AS SELECT * FROM FROM_CHANGELOG(input => (SELECT name, op, id FROM t WHERE id < 4), op_mapping => MAP['I', 'INSERT', 'UB', 'UPDATE_BEFORE', 'UA', 'UPDATE_AFTER', 'D', 'DELETE']);
SELECT * FROM ch;
SELECT name, COUNT(*) AS n, MAX(id) AS m FROM ch GROUP BY name;
SELECT * FROM TO_CHANGELOG(input => TABLE ch);
SELECT * FROM TO_CHANGELOG(input => (SELECT name, COUNT(*) AS n FROM ch GROUP BY name), op => DESCRIPTOR(kind), op_mapping => MAP['INSERT, UPDATE_AFTER', 'upsert', 'DELETE', 'gone']);
SELECT k, COUNT(*) AS n FROM TO_CHANGELOG(TABLE ch) AS x (k, name, id) GROUP BY k;
