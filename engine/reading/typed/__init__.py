"""Columns and their types: inferred, declared or computed, and texts as values of them."""
