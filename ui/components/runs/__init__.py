"""Runs: which one, its status, what can be done to it, its variants, and how two of them differ."""
