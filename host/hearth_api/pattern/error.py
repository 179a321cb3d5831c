"""What is raised for a regular expression that is none."""

from __future__ import annotations

from hearth_api.errors import ConfigError


class PatternError(ConfigError):
    """A regular expression, or what replaces its matches, is wrong; the message is the one Java gives.

    Made from Java's description and, for expressions, the expression and the index the description is
    about.
    """

    code = "config.pattern"

    def __str__(self) -> str:
        """Word it as Java's PatternSyntaxException does, with a mark below the index."""
        what, text, index = (*self.args, None, None)[:3]
        if text is None:
            return str(what)
        if index is None or index < 0:
            return f"{what}\n{text}"
        mark = f"\n{' ' * index}^" if index < len(text) else ""
        return f"{what} near index {index}\n{text}{mark}"
