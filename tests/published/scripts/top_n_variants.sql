CREATE TABLE spells_cast (wizard STRING, spell STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'kafka', 'topic' = 'spells_cast', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO spells_cast VALUES ('h', 'a', TIMESTAMP '2024-01-01 00:00:01'), ('h', 'b', TIMESTAMP '2024-01-01 00:00:02'), ('h', 'b', TIMESTAMP '2024-01-01 00:00:03'), ('r', 'a', TIMESTAMP '2024-01-01 00:00:04'), ('h', 'c', TIMESTAMP '2024-01-01 00:00:05'), ('h', 'c', TIMESTAMP '2024-01-01 00:00:06'), ('h', 'c', TIMESTAMP '2024-01-01 00:00:07');
SELECT wizard, spell, times_cast FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY wizard ORDER BY times_cast DESC) AS row_num FROM (SELECT wizard, spell, COUNT(*) AS times_cast FROM spells_cast GROUP BY wizard, spell)) WHERE row_num <= 2;
SELECT wizard, spell FROM (SELECT wizard, spell, ROW_NUMBER() OVER (PARTITION BY wizard ORDER BY ts ASC) AS rn FROM spells_cast) WHERE rn = 1;
SELECT * FROM (SELECT spell, COUNT(*) AS n FROM spells_cast GROUP BY spell) ORDER BY n DESC LIMIT 2;
SELECT spell, COUNT(*) + 1 AS more FROM spells_cast GROUP BY spell;
