"""Live runs: their buttons, figures and alerts, and how much of their history is kept."""
