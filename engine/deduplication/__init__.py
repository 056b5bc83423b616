"""One row per key: the kernels of deduplication and changelog normalisation, plain and columnar."""
