"""Composing a pipeline: drafts and their undo, edits and gestures, the planner's check, first records."""
