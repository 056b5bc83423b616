"""What kernels of several operators share: state, accumulators, bundles, windows; no Spark, no planning."""
