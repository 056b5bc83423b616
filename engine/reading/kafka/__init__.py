"""Reads Kafka topics: partitions by offset, kept beside the store before they count."""
