"""Declares a class name that another bundle also declares, and one that shares only its alias."""

from hearth_api import Transformation


class Clash(Transformation):
    """Passes records through unchanged."""

    def configure(self, configs):
        return

    def apply(self, record):
        return record


class Shout(Clash):
    """Passes records through unchanged."""
