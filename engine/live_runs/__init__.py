"""Live runs as programs use them; how their records arrive is `engine/runtime/arrivals`, and `LIVE.md` explains both.

planning              the plan of a live run, with types that later rows cannot change
external_resources    what a live run keeps outside of its files
"""
