"""A run's chosen events as one HTML file that plays without a server: `python3 -m ui.replay RUN FILE`."""
