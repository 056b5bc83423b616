"""A person's own SQL over the store: what can be asked, and what may be."""
