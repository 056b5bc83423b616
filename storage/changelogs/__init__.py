"""What edges carried: pages, tables as of an event, lineage, retraction flows, differences of two runs."""
