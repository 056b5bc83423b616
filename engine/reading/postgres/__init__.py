"""Reads PostgreSQL: a table's rows, then its changes from a replication slot."""
