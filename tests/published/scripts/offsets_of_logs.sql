-- Lines of three services, each with times as it writes them: with an offset, with microseconds, and without a zone.
CREATE TABLE `log lines` (
  `service` STRING,
  `written at` STRING,
  `tags` MAP<STRING, STRING>,
  `took.ms` INT
) WITH (
  'connector' = 'kafka', 'topic' = 'lines', 'properties.bootstrap.servers' = 'broker:9092', 'format' = 'json'
);

INSERT INTO `log lines` VALUES
  ('api',  '2024-03-31T14:07:09+02:00', MAP['host', 'a'], 12),
  ('api',  '2024-03-31T14:07:59-05:30', MAP['host', 'a'], 7),
  ('jobs', '2024-03-31 14:08:09.123456', MAP['host', 'b'], 40),
  ('jobs', '2024-03-31 14:08:09.123999', MAP['host', 'b'], 41),
  ('web',  '31/03/2024 02:08 PM', CAST(NULL AS MAP<STRING, STRING>), 3),
  ('web',  'yesterday', MAP['host', 'c'], CAST(NULL AS INT));

CREATE TEMPORARY VIEW parsed (service, at_, tag_text, host, took) AS
SELECT
  `service`,
  CASE `service`
    WHEN 'api' THEN TO_TIMESTAMP(`written at`, 'yyyy-MM-dd''T''HH:mm:ssXXX')
    WHEN 'jobs' THEN TO_TIMESTAMP(`written at`, 'yyyy-MM-dd HH:mm:ss.SSSSSS')
    ELSE TO_TIMESTAMP(`written at`, 'dd/MM/yyyy hh:mm a')
  END,
  CAST(`tags` AS STRING),
  `tags`['host'],
  `took.ms`
FROM `log lines`;

SELECT service, at_, CAST(at_ AS STRING) AS as_text, DATE_FORMAT(at_, 'HH:mm:ss.SSS') AS clock_, tag_text FROM parsed;

-- Texts of moments and of maps as keys.
SELECT
  CAST(FLOOR(at_ TO MINUTE) AS STRING) AS `minute`,
  tag_text,
  COUNT(*) AS n,
  SUM(took) AS took,
  MAX(COALESCE(host, '-')) AS host
FROM parsed
GROUP BY CAST(FLOOR(at_ TO MINUTE) AS STRING), tag_text;
