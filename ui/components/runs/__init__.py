"""Runs: which one, how it stands, what can be done to it, and how two of them differ."""
