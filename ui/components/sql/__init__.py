"""A person's own SQL: the tables there are, and a chart of what a query gave."""
