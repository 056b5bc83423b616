"""The user's engines: their list, the default of new runs, the input of the engine form, and tests of engines."""
