-- Parts of dates and differences of times.
CREATE TABLE people (id INT, name STRING, born DATE)
WITH ('connector' = 'filesystem', 'path' = '/data/people', 'format' = 'json');
INSERT INTO people VALUES
  (1, 'Ann', DATE '1990-02-28'),
  (2, 'Bob', DATE '1985-12-31'),
  (3, 'Cy', CAST(NULL AS DATE));

SELECT name, EXTRACT(YEAR FROM born) AS y, EXTRACT(DOW FROM born) AS dow, QUARTER(born) AS q,
  TIMESTAMPDIFF(YEAR, CAST(born AS TIMESTAMP(3)), TIMESTAMP '2024-05-01 00:00:00') AS age,
  DATE_FORMAT(CAST(born AS TIMESTAMP(3)), 'dd.MM.yyyy') AS written, born + INTERVAL '1' MONTH AS later,
  FLOOR(born TO MONTH) AS month_of
FROM people;
