"""Around every page: the engine, what can be done with a page, stories, turning pages."""
