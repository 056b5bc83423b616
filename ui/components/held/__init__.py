"""What operators hold: tables and charts of their state, and the file of a record that met expired state."""
