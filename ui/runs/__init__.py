"""Runs of the app: the manager, the start of a run, its overlay on the canvas, variants, batch checks."""
