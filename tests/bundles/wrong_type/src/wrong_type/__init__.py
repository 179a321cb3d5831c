"""Declares a class as a source connector that is none."""


class WrongType:
    """Is no connector."""
