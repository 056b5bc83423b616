"""The events of a run, prepared for display: reasons, trees of records, lineage, state."""
