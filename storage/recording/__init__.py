"""A run on its way into the store: epochs, edges, events, lifetimes, and what is prepared once it has ended."""
