"""Errors that occur before the app runs."""


class SetupError(Exception):
    """The environment cannot be made; the message is the one sentence to show."""
