"""Functions and operators of Flink SQL as equivalent Spark SQL."""
