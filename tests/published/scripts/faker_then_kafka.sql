CREATE TEMPORARY TABLE made (who STRING, score INT) WITH (
  'connector' = 'faker', 'number-of-rows' = '20', 'fields.who.expression' = '#{Name.firstName}', 'fields.score.expression' = '#{number.numberBetween ''1'',''9''}');
CREATE TABLE scores (who STRING, score INT) WITH ('connector' = 'kafka', 'topic' = 'scores', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
INSERT INTO scores SELECT * FROM made;
SELECT COUNT(*) AS n, COUNT(score) AS scored FROM scores;
