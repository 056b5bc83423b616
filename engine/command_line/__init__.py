"""Parts of `python -m engine`, whose commands `engine/__main__.py` lists.

live          the commands `run --live` and `resume`
export        the command `export`
edges         the edge that a command shows or writes
interrupts    SIGINT and SIGTERM
arguments     numbers and durations
"""
