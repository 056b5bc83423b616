-- U&'...' has characters by their code points: a delimiter that no keyboard has, and letters.
CREATE TABLE lines (city STRING, n INT) WITH ('connector' = 'filesystem', 'path' = '/data/lines', 'format' = 'csv', 'csv.field-delimiter' = U&'\0001');
INSERT INTO lines VALUES (U&'K\00f6ln', 1), (u&'Z\00FCrich', 2), ('U&K\00f6ln', 3);

SELECT city, CHAR_LENGTH(city) AS chars, U&'it''s \\ \2192 ' || city AS shown FROM lines WHERE city <> U&'Z\00fcrich';
