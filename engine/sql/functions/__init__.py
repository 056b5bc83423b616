"""Functions and operators of Flink SQL, each as Spark SQL that means the same."""
