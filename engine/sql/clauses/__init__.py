"""The clauses of a query, each read into relational algebra."""
