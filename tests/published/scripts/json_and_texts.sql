-- Parts of JSON texts, and work on texts.
CREATE TABLE logs (line STRING)
WITH ('connector' = 'filesystem', 'path' = '/data/logs', 'format' = 'json');
INSERT INTO logs VALUES
  ('{"user":{"id":7,"name":"Ann"},"tags":["a","b"],"ok":true}'),
  ('{"user":{"id":8},"tags":[]}'),
  ('no json');

SELECT JSON_VALUE(line, '$.user.id' RETURNING INT) AS id, JSON_VALUE(line, '$.user.name' DEFAULT 'none' ON EMPTY NULL ON ERROR) AS name,
  JSON_QUERY(line, '$.tags') AS tags, JSON_EXISTS(line, '$.ok') AS has_ok, line IS JSON AS is_json,
  SPLIT_INDEX(line, ':', 0) AS head, REGEXP_EXTRACT(line, '"id":(\d+)', 1) AS found, CHAR_LENGTH(line) AS size, LPAD('7', 3, '0') AS padded
FROM logs;
