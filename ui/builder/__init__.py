"""A pipeline being composed: drafts and their undo, edits and gestures, what the planner says, first records."""
