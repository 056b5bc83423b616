"""Retractions: of one event, of a whole run, and written out of order."""
