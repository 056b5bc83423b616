CREATE TABLE heroes (name STRING, spells ARRAY<STRING>, marks MAP<STRING, INT>, home ROW<town STRING, zip INT>) WITH (
  'connector' = 'kafka',
  'topic' = 't',
  'properties.bootstrap.servers' = 'broker:9092',
  'scan.startup.mode' = 'earliest-offset',
  'format' = 'json'
);

INSERT INTO heroes VALUES
  ('ann', ARRAY['fly','hide'], MAP['x',1,'y',2], ROW('Rome', 11)),
  ('bob', ARRAY['fly'], MAP['x',5], ROW('Bonn', 22)),
  ('cat', CAST(NULL AS ARRAY<STRING>), CAST(NULL AS MAP<STRING, INT>), CAST(NULL AS ROW<town STRING, zip INT>));

SELECT h.name, s.spell, CARDINALITY(h.spells) AS n, h.home.town, h.marks['x'] AS x
FROM heroes AS h CROSS
JOIN UNNEST(h.spells) AS s (spell);

SELECT h.name, m.k, m.v FROM heroes AS h LEFT JOIN UNNEST(h.marks) AS m (k, v) ON TRUE;

SELECT
  name,
  ARRAY_CONTAINS(spells, 'hide') AS hides,
  ELEMENT(ARRAY[name]) AS e,
  spells[1] AS first_,
  CAST(home AS STRING) AS home
FROM heroes
WHERE home IS NOT NULL;
