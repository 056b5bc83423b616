CREATE TABLE raw_events (payload STRING) WITH ('connector' = 'kafka', 'topic' = 'raw_events', 'properties.bootstrap.servers' = 'broker:9092', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO raw_events VALUES ('{"user": {"id": 7, "name": "ada"}, "tags": ["x", "y"], "ok": true}'), ('{"user": {"id": 8}, "tags": []}');
SELECT JSON_VALUE(payload, '$.user.id' RETURNING INT) AS id, JSON_VALUE(payload, '$.user.name' DEFAULT 'nobody' ON EMPTY) AS name, JSON_QUERY(payload, '$.tags') AS tags, JSON_EXISTS(payload, '$.ok') AS ok FROM raw_events;
SELECT JSON_OBJECT('id' VALUE JSON_VALUE(payload, '$.user.id'), 'n' VALUE 1) AS o, JSON_ARRAY(1, 'a', TRUE) AS a FROM raw_events;
SELECT JSON_OBJECTAGG(KEY k VALUE v) AS o, JSON_ARRAYAGG(k) AS a FROM (VALUES ('a', 1), ('b', 2)) AS t (k, v);
