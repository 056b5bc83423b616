-- a comment; with a semicolon
SET 'parallelism.default' = '1'; -- after it
CREATE TABLE `Orders` (`Order Id` int, `käse` string, `select` int, primary key (`Order Id`) not enforced) WITH ('connector' = 'kafka', 'topic' = 'o', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO `Orders` values (1, 'it''s', 2), (2, 'ä;ö', 3);
SELECT `Order Id`, `käse` as `k` from `Orders`;
SELECT o.`Order Id`, o.`select` + 1 as `+1` from `Orders` as o where o.`käse` <> 'x';
