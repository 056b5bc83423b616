"""Settings of the property tests."""

from __future__ import annotations

from hypothesis import settings

# No deadline: the time of an example on a busy machine is meaningless.
settings.register_profile("engine", deadline=None)
settings.load_profile("engine")
