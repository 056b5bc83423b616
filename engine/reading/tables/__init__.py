"""Tables that the app reads and stores for the workers: sheets of workbooks, tables of databases."""
