"""JSON: its columns, its lines, its values and what is nested in them, and envelopes of change data."""
