"""What somebody adds who follows a recipe, a file each, and the tests that put it where the recipe says.

window_first    an operator (recipe: `engine/operators/__init__.py`)
countdown       a source (`engine/sources/__init__.py`)
spread, bit_or  aggregate functions (`engine/aggregates/functions/__init__.py`)
edge_totals     a page (`ui/views/__init__.py`)
"""
