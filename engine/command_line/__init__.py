"""Parts of `python -m engine`, whose commands `engine/__main__.py` lists.

live                the commands `run --live` and `resume`
export              the command `export`
flink               the command `flink`, and `run --check flink`
kept                the commands `keep` and `test`
printing_recorder   the changelog of a live run, while it runs
edges               the edge that a command shows or writes
interrupts          SIGINT and SIGTERM
arguments           numbers and durations
"""
