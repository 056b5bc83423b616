"""Settings of the property tests."""

from __future__ import annotations

from hypothesis import settings

# No deadline: the time of an example on a busy machine is meaningless. Every run of the suite draws other examples.
settings.register_profile("engine", deadline=None, max_examples=40)
settings.load_profile("engine")
