"""What pages are composed of. A component draws one thing and owns its corner of the session."""
