"""The builder: the canvas, the bar above it, and the forms and tabs below."""
