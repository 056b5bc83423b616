"""The first page: examples, dropped files, saved pipelines, recent runs."""
