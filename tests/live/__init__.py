"""Live runs that are killed: processes that end with SIGKILL while a folder grows, and what a store says afterwards."""
