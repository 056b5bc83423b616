"""What happened in a run, made ready to be shown: reasons, trees of records, lineage, state."""
