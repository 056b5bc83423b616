CREATE TABLE spells (who STRING, learned ARRAY<STRING>, pairs STRING) WITH ('connector' = 'kafka', 'topic' = 'spells', 'properties.bootstrap.servers' = 'broker:9092', 'properties.group.id' = 'g', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
INSERT INTO spells VALUES ('harry', ARRAY['lumos', 'nox'], 'a:1,b:2'), ('ron', ARRAY['lumos'], 'c:3');
CREATE TEMPORARY VIEW per_spell AS SELECT s.who, t.spell FROM spells AS s CROSS JOIN UNNEST(s.learned) AS t (spell);
SELECT who, spell FROM per_spell;
SELECT who, STR_TO_MAP(pairs, ',', ':')['a'] AS a, CARDINALITY(learned) AS n, learned[1] AS f, ELEMENT(ARRAY[who]) AS e, ARRAY_CONTAINS(learned, 'nox') AS c FROM spells;
SELECT who, t.spell, t.pos FROM spells CROSS JOIN UNNEST(learned) WITH ORDINALITY AS t (spell, pos);
SELECT who, LISTAGG(spell, ';') AS l FROM per_spell GROUP BY who;
