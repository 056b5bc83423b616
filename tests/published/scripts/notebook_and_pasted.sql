%flink.ssql(type=update)
CREATE TABLE visits (
  id BIGINT,
  page INT,
  seen AS PROCTIME()
) WITH (
  'connector' = 'datagen',
  'number-of-rows' = '5',
  'rows-per-second' = '999999999',
  'fields.page.min' = '1',
  'fields.page.max' = '3'
)
SET 'parallelism.default' = '1'

CREATE TABLE magic (
  page INT,
  spells MULTISET<STRING>
) WITH (
  'connector' = 'faker',
  'changelog.mode' = 'append',
  'number-of-rows' = '4',
  'fields.page.expression' = '#{number.numberBetween ''1'',''4''}',
  'fields.spells.expression' = '#{harry_potter.spell}',
  'fields.spells.length' = '5'
)

ALTER TABLE magic ADD COLUMN note STRING;

ALTER TABLE magic ADD PARTITION (page = 1);

ALTER TABLE magic DROP (note);

SELECT v.*, m.spells
FROM visits AS v
JOIN magic AS m ON v.page = m.page
WITH few AS (
  SELECT page, COUNT(*) AS times FROM visits GROUP BY page
)
SELECT page, times FROM few WHERE times < 3;
