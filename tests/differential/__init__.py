"""Our engine and Flink on the same random pipelines."""
