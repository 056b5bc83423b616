-- Rows of VALUES that functions compute.
CREATE TABLE settings (
  user_id INT,
  settings MAP<STRING, STRING>,
  since BIGINT,
  words ARRAY<STRING>
) WITH (
  'connector' = 'kafka',
  'topic' = 'settings',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO settings VALUES
  (1, STR_TO_MAP('lang=en-GB,mode=dark'), UNIX_TIMESTAMP('2009-02-13 23:31:30', 'yyyy-MM-dd HH:mm:ss'), SPLIT('a b', ' ')),
  (2, MAP['lang', 'de'], CHAR_LENGTH('twelve chars'), ARRAY[REPEAT('ab', 2)]);

SELECT user_id, 'in ' || settings['lang'] AS lang, settings['mode'] AS mode, since, words[1] AS word FROM settings
WHERE settings['lang'] IS NOT NULL
