"""Mini-batch: records are held back in bundles and folded; where bundles end is in `engine.runtime.mini_batch`."""
