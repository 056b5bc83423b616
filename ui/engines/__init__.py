"""The user's engines: their list, the default and the chosen one, the input of the engine form, and their tests."""
