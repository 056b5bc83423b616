"""Pipelines, planner, operators and their runtime on Spark. Knows neither `ui` nor `storage`."""
