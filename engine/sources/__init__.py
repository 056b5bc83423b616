"""One file per source. Found by `engine.registry`; a module without `SOURCE` is something that sources share."""
