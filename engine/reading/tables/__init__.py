"""Tables that the app itself reads and keeps for the workers: sheets of workbooks, tables of databases."""
