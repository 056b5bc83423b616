"""Mini-batch: records are held back in bundles and folded; where bundles end, on Spark and locally."""
