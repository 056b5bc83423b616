CREATE TABLE balances (account STRING, balance BIGINT, PRIMARY KEY (account) NOT ENFORCED) WITH ('connector' = 'upsert-kafka', 'topic' = 'balances', 'properties.bootstrap.servers' = 'broker:9092', 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE moves (account STRING, amount BIGINT) WITH ('connector' = 'kafka', 'topic' = 'moves', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO moves VALUES ('a', 5), ('b', 7), ('a', -2);
INSERT INTO balances SELECT account, SUM(amount) FROM moves GROUP BY account;
