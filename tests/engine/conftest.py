"""Settings of the property tests."""

from __future__ import annotations

from hypothesis import settings

# Examples are judged by their results: how long one takes on a busy machine says nothing.
settings.register_profile("engine", deadline=None)
settings.load_profile("engine")
