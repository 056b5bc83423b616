CREATE TABLE numbers (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '5');
CREATE TABLE squares WITH ('connector' = 'print') AS SELECT n, n * n AS square FROM numbers;
