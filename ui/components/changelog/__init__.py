"""Changelogs: records, filters, tables as of an event, the cascade of an event, the lineage of a record."""
