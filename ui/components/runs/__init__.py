"""Runs: the choice of one, its status, its actions, its variants, and the differences of two."""
