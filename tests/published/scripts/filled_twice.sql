CREATE TABLE events (id INT, kind STRING) WITH ('connector' = 'filesystem', 'path' = '/data/events', 'format' = 'json');
INSERT INTO events VALUES (1, 'in');
INSERT INTO events VALUES (2, 'out'), (3, 'in');
SELECT kind, COUNT(*) FROM events GROUP BY kind;
