"""How a live run writes the result of a sink to a place outside of the studio, epoch by epoch.

targets         what a sink can name, with its parameters
allowed         where the live runs of a shared studio may write
last_per_key    the last change of each key in an epoch
partitions      rows by partition, as in Hive; a Parquet file as a folder of them
folders         folders of this machine and of buckets
parquet         Parquet files and manifests in a folder: a changelog, or a table by key
postgres        a table of PostgreSQL, an epoch in a transaction
kafka           a topic of Kafka, an epoch in a transaction
kafka_producer  its producer, in the process of librdkafka
json_values     rows as Flink's JSON

`engine.contract.target` has the protocol; `engine.runtime.outbox` calls it.
"""
