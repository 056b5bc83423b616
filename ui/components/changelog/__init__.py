"""Changelogs: records, filters, tables as of an event, what an event caused, what a record was made of."""
