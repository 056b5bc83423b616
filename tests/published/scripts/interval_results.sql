CREATE TABLE e (k STRING, a TIMESTAMP(3), b TIMESTAMP(3)) WITH ('connector' = 'kafka', 'topic' = 'e', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO e VALUES ('x', TIMESTAMP '2024-01-01 10:00:00', TIMESTAMP '2024-01-01 09:00:00'), ('y', TIMESTAMP '2024-03-01 00:00:00', TIMESTAMP '2024-02-28 00:00:00');
SELECT k, TIMESTAMPDIFF(MINUTE, b, a) AS m, a + INTERVAL '1 02:03:04.5' DAY TO SECOND AS later, a + INTERVAL '1-2' YEAR TO MONTH AS y, TIMESTAMPADD(DAY, 1, a) AS d FROM e;
SELECT k, a - b AS dur FROM (SELECT k, TIMESTAMPDIFF(SECOND, b, a) AS a, 0 AS b FROM e);
