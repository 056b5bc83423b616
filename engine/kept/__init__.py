"""Pipelines under test: what a run read, and what came out of it, kept as a folder of texts that fit into git.

manifest     test.json: the name and words of a test, what it expects of which outputs, its sources
answers      an output as text: its changelog or its final table, one record a line
kept_test    a test on disk: read, written, its expectations replaced
replaying    a pipeline on kept records, in this process or on an engine
judging      a test's verdict: the same, or the first difference
keeping      a new test of a run's recordings
shrinking    the smallest set of events that still shows a chosen record
junit        verdicts as JUnit XML

The records of a source are a recording as text (`engine.reading.recorded_text`). `TESTS.md` tells how to use it, also
from pytest and in CI.
"""
