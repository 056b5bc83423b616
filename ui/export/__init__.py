"""A page as one HTML file."""
