"""Files of sources: which there are, how they are opened, fetched and watched, and how workers read each format."""
