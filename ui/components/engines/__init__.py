"""Engines: their list, the form of one, the findings of a test, and the choice of one for a run."""
