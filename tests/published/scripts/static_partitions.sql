SET 'execution.runtime-mode' = 'streaming';
SET 'sql.state-ttl' = '0 s';
SET 'client.statement-name' = 'page views';

CREATE TABLE views_of_today (
  `user` STRING,
  cnt INT
) WITH (
  'connector' = 'kafka',
  'topic' = 'views',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO views_of_today VALUES ('Ann', 3), ('Bob', 5), ('Ann', 4);

CREATE TABLE page_views (
  `user` STRING,
  cnt INT,
  `day` STRING,
  country STRING
) PARTITIONED BY (`day`, country) WITH (
  'connector' = 'kafka',
  'topic' = 'page_views',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO page_views PARTITION (`day` = '2024-08-30', country = 'China')
SELECT `user`, cnt FROM views_of_today;

SELECT `user`, SUM(cnt) AS cnt, `day`, country FROM page_views GROUP BY `user`, `day`, country;
