"""Event time: charts of records, watermarks and loss, and the tables that go with them."""
