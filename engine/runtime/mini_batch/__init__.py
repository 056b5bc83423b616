"""Mini-batch in a run: which bundle each record of a keyed step belongs to."""
