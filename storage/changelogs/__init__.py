"""The changelogs of edges: pages, tables as of an event, lineage, retraction flows, differences of two runs."""
