"""Conformance with Flink: jobs that Flink ran are run here, and compared record by record."""
