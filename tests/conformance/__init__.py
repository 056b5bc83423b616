"""Flink's own answers: jobs that Flink ran, run here, record by record."""
