-- A script as people paste it: only its last statement has a semicolon.
SET 'table.dml-sync' = 'true'

CREATE TABLE clicks (
  user_id INT,
  page STRING
) WITH (
  'connector' = 'filesystem',
  'path' = '/data/clicks',
  'format' = 'json'
)

INSERT INTO clicks
VALUES (1, 'a'), (2, 'b'), (1, 'c')

CREATE VIEW per_user AS
SELECT user_id, COUNT(*) AS clicked
FROM clicks
GROUP BY user_id
UNION ALL
SELECT user_id, 0
FROM clicks
WHERE page = 'b'

SELECT user_id, SUM(clicked) AS clicked
FROM per_user
GROUP BY user_id;
