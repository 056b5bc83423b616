"""The user's own SQL: the available tables, and a chart of a query's result."""
