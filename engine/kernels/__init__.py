"""What kernels of several families share, and the stage before an upsert sink; no Spark, no planning."""
