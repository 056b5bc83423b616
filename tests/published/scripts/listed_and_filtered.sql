-- Aggregates with FILTER, and a list.
CREATE TABLE ev (k STRING, kind STRING, n INT)
WITH ('connector' = 'filesystem', 'path' = '/data/ev', 'format' = 'json');
INSERT INTO ev VALUES
  ('a', 'ok', 1),
  ('a', 'bad', 2),
  ('b', 'ok', 3),
  ('a', 'ok', 4);

SELECT k, COUNT(*) FILTER (WHERE kind = 'ok') AS oks, SUM(n) FILTER (WHERE kind = 'bad') AS bad, LISTAGG(kind, ';') AS kinds,
  MIN(n) AS least, AVG(n) AS mean
FROM ev GROUP BY k;
