"""How sources read their input: types, values, files, event times. The sources themselves are in `engine/sources/`."""
