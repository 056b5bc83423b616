"""JSON: columns, lines, values, nested values, and envelopes of change data."""
