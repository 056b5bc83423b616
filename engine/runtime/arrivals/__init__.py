"""The events of a run: sources read once, numbered, with the watermark after each event; bounded, or epoch by epoch.

intake           reads the sources, each once
units            the files that a task makes of a source
ingest           the events of the sources, with their numbers and watermarks
order            the position of each event among those of all sources
numbering        the numbers of the events
watermark_rule   the watermark of one source after each of its events
clocks           the watermark of every source and operator, as shared arrays
state            the state of the sources between events
idleness         idle sources and watermark alignment in a live run
live             the events of a live run, and its checkpoints
"""
