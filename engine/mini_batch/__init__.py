"""Mini-batch: records are buffered in bundles and folded; `engine.runtime.keyed.bundling` divides them over tasks."""
