"""One row per key: the kernels of deduplication, of changelog normalisation and of upsert sinks."""
