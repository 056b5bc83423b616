SET 'pipeline.name' = 'two outputs';
SET 'execution.runtime-mode' = 'streaming';
SET 'sql-client.execution.result-mode' = 'changelog';
CREATE TABLE src (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = '/data/src', 'format' = 'csv');
CREATE TABLE few (k STRING, v INT) WITH ('connector' = 'blackhole');
CREATE TABLE big_ones WITH ('connector' = 'print') LIKE few (EXCLUDING OPTIONS);
INSERT INTO src VALUES ('a', 1), ('b', 200);
EXECUTE STATEMENT SET
BEGIN
  INSERT INTO few SELECT k, v FROM src WHERE v < 100;
  INSERT INTO big_ones SELECT k, v FROM src WHERE v >= 100;
END;
