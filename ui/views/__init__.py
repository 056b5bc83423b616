"""One thin script per page: ask components for input, the store or the engine for data, and draw."""
