"""What a pipeline, its options, its schemas and its changelogs are: values that every other part speaks in."""
