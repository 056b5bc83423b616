"""Differential tests: our engine and Flink on the same random pipelines."""
