-- A look at the stream, which shows its processing time, changes neither of the queries by it.
CREATE TABLE subscriptions (id STRING, user_id INT, proc_time AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 'subscriptions', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE users (user_id INT, user_name STRING, age INT, PRIMARY KEY (user_id) NOT ENFORCED) WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://db:3306/shop', 'table-name' = 'users', 'username' = 'reader', 'lookup.cache.max-rows' = '100', 'lookup.cache.ttl' = '1 h');
SELECT * FROM subscriptions;
SELECT s.id, s.user_id, u.user_name, u.age FROM subscriptions AS s JOIN users FOR SYSTEM_TIME AS OF s.proc_time AS u ON s.user_id = u.user_id;
SELECT id, user_id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY proc_time ASC) AS place FROM subscriptions) WHERE place = 1;
