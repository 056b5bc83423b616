"""The parts of pages. A component draws one thing and owns its part of the session state."""
