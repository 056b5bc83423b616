"""Avro: what its schemas say, what a reader makes of a writer's values, messages, container files, the registry."""
