-- Weeks by the pattern of DATE_FORMAT begin on Sunday.
CREATE TABLE days (d TIMESTAMP(3)) WITH ('connector' = 'filesystem', 'path' = '/data/days', 'format' = 'json');
INSERT INTO days VALUES
  (TIMESTAMP '2023-12-31 10:00:00'), (TIMESTAMP '2022-12-31 10:00:00'), (TIMESTAMP '2021-01-02 23:59:59'),
  (TIMESTAMP '2024-12-29 00:00:00'), (TIMESTAMP '2020-02-29 00:00:00');
SELECT d, DATE_FORMAT(d, 'YYYYww') AS week, DATE_FORMAT(d, 'YYYY-MM-dd ''w''w') AS day_of, DATE_FORMAT(d, 'YY') AS y
FROM days;
