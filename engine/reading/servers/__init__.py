"""The base of the server sources: addresses, secrets by name, and messages stored as received."""
