"""Declares a class that is not a connector as a source connector."""


class WrongType:
    """Is not a connector."""
