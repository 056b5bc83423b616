"""Runs from the app: the manager, how a run begins, its overlay on the canvas, variants, batch checks."""
