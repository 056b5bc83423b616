CREATE TABLE people (id INT, city STRING, state STRING, moved TIMESTAMP(3), WATERMARK FOR moved AS moved - INTERVAL '1' MINUTE) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO people VALUES
  (1,'Salem','OR',TIMESTAMP '2024-01-01 00:00:00'),
  (2,'Bend','OR',TIMESTAMP '2024-01-01 00:01:00'),
  (3,'Salem','OR',TIMESTAMP '2024-01-01 00:02:00'),
  (1,'Reno','NV',TIMESTAMP '2024-01-01 00:03:00'),
  (4,'Elko','NV',TIMESTAMP '2024-01-01 00:04:00'),
  (5,'Elko','NV',TIMESTAMP '2024-01-01 00:05:00'),
  (3,'Ely','NV',TIMESTAMP '2024-01-01 00:04:30'),
  (2,'Ely','NV',TIMESTAMP '2024-01-01 00:09:00');

CREATE TEMPORARY VIEW population AS SELECT city, state, COUNT(*) AS n
FROM (SELECT city, state, ROW_NUMBER() OVER (PARTITION BY id ORDER BY moved DESC) AS rn FROM people)
WHERE rn = 1
GROUP BY city, state;

SELECT s.state, c.city, c.n
FROM (SELECT DISTINCT state FROM population) AS s, LATERAL (SELECT city, n FROM population WHERE state = s.state ORDER BY n DESC LIMIT 2) AS c;
