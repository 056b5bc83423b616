CREATE TABLE first_stage (k STRING, v INT) WITH ('connector' = 'kafka', 'topic' = 'a', 'properties.bootstrap.servers' = 'b:1', 'format' = 'json');
CREATE TABLE counts (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'c', 'properties.bootstrap.servers' = 'b:1', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE report (n BIGINT, ks BIGINT) WITH ('connector' = 'print');
INSERT INTO first_stage VALUES ('a', 1), ('b', 2), ('a', 3);
INSERT INTO counts SELECT k, COUNT(*) FROM first_stage GROUP BY k;
INSERT INTO report SELECT n, COUNT(*) FROM counts GROUP BY n;
