"""A person's own SQL over the store: the catalog, the check of a query, and its execution."""
