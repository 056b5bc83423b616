"""Stories of pipelines: which one is open, the run that it is told on, what of a step is gone, and its words.

A story is a part of its pipeline's document (`engine.model.story`), also that of an example.
"""
