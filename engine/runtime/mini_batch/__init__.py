"""Mini-batch in a run: the bundle of each record of a keyed step."""
