"""The events of a run: sources read once, numbered, with the watermark after each; whole, or epoch by epoch.

intake       read the sources, each once
units        what a task makes of a source
ingest       the events of the sources, with their numbers and watermarks
order        where each event stands among those of all sources
numbering    the numbers of the events
clocks       the watermark of every source and operator, as shared arrays
waiting      for whom the sources of a live run wait
live         the events of a live run, and what it needs to go on
"""
