# A session of the client, copied with its answers.
Flink SQL> SET 'sql-client.execution.result-mode' = 'tableau';
[INFO] Execute statement succeed.
!info

Flink SQL> CREATE TABLE cities (
> name STRING,
> people INT
> ) WITH ('connector' = 'kafka', 'topic' = 'cities', 'properties.bootstrap.servers' = 'b:9092', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset');
[INFO] Execute statement succeed.

INSERT INTO cities VALUES ('Bern', 134), ('Genf', 203), ('Bern', 135);
[INFO] Submitting SQL update statement to the cluster...

# === materialized tables ===
CREATE MATERIALIZED TABLE largest
PARTITIONED BY (name)
FRESHNESS = INTERVAL '30' SECOND
AS SELECT name, MAX(people) AS people FROM cities GROUP BY name;

SELECT name, people, '# no comment' AS word FROM largest;
+------+--------+--------------+
| name | people |         word |
+------+--------+--------------+
| Bern |    134 | # no comment |
+------+--------+--------------+
1 row in set
!ok

HELP;
QUIT;
