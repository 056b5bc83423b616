"""How a run is written: epochs, edges, events, lifetimes, and the slow answers that are computed once it has ended."""
