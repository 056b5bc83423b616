"""What can go wrong before the app runs."""


class SetupError(Exception):
    """The environment cannot be made; the message is the one sentence to show."""
