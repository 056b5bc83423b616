"""Columns and their types: inferred, declared or computed; and texts converted to typed values."""
