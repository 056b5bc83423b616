"""How sources read: types, values, files, event times. The sources themselves are in `engine/sources/`."""
