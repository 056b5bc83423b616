"""Engines: their list, the form of one, what a test found, and the choice of one for a run."""
