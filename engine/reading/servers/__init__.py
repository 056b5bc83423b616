"""What the sources over servers share: who is asked, secrets by name, and messages kept as they came."""
