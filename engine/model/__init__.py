"""Pipelines, options, schemas and changelogs: the values that all other parts exchange."""
