CREATE TEMPORARY VIEW requests AS SELECT * FROM (VALUES (1, '/a/b?x=1', 200), (2, '/c', 404), (3, '/a', 503)) AS t (id, path, status);
SELECT id, SPLIT_INDEX(path, '?', 0) AS resource,
  CASE WHEN status >= 500 THEN 'server' WHEN status >= 400 THEN 'client' ELSE 'ok' END AS outcome
FROM requests;
