CREATE TABLE l (id INT, a STRING) WITH ('connector' = 'filesystem', 'path' = '/data/l', 'format' = 'csv');
CREATE TABLE r (id INT, b STRING) WITH ('connector' = 'filesystem', 'path' = '/data/r', 'format' = 'csv');
INSERT INTO l VALUES (1, 'x');
INSERT INTO r VALUES (1, 'y');
SELECT /*+ BROADCAST(r) */ l.id, a, b FROM l /*+ OPTIONS('source.path.regex-pattern' = '.*') */ JOIN r ON l.id = r.id;
