-- Windows of processing time, where nothing but the generator says when rows arrive.
CREATE TABLE clicks (
  ip STRING,
  clicked AS PROCTIME()
) WITH ('connector' = 'faker', 'number-of-rows' = '40', 'rows-per-second' = '1',
  'fields.ip.expression' = '#{regexify ''10\.0\.0\.[1-3]''}');

CREATE VIEW by_group AS
SELECT ip, TUMBLE_START(clicked, INTERVAL '10' SECOND) AS begins, TUMBLE_PROCTIME(clicked, INTERVAL '10' SECOND) AS closes,
  COUNT(*) AS n
FROM clicks GROUP BY ip, TUMBLE(clicked, INTERVAL '10' SECOND);

CREATE VIEW by_function AS
SELECT window_start, window_end, COUNT(DISTINCT ip) AS ips
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(clicked), INTERVAL '10' SECOND))
GROUP BY window_start, window_end;

CREATE TABLE o (ip STRING, begins TIMESTAMP(3), n BIGINT) WITH ('connector' = 'print');
INSERT INTO o SELECT ip, begins, n FROM by_group;
SELECT * FROM by_function;
