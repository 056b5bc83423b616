"""Mini-batch: records are buffered in bundles and folded; `engine.runtime.mini_batch` finds the ends of bundles."""
