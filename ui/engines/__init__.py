"""The user's engines: which there are, which one a run takes, what was typed about one, and tests of them."""
