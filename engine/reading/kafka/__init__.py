"""What is read from topics of Kafka: partitions by their offsets, kept beside the store before they count."""
