"""Parts of `python -m engine`, whose commands `engine/__main__.py` lists.

live          the commands `run --live` and `resume`
export        the command `export`
interrupts    SIGINT and SIGTERM
arguments     numbers and durations
"""
