"""The specification. `python3 -m tests` makes the environment and runs linting, typing and every test."""
