"""Files of sources: how they are found, opened, fetched and watched, and how workers read each format."""
