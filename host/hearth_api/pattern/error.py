"""The error for an invalid regular expression."""

from __future__ import annotations

from hearth_api.errors import ConfigError


class PatternError(ConfigError):
    """A regular expression or a replacement is invalid; the message is Java's.

    Its arguments are Java's description and, for expressions, the expression and the index of the error.
    """

    code = "config.pattern"

    def __str__(self) -> str:
        """Return the message of Java's PatternSyntaxException, with a marker under the index."""
        what, text, index = (*self.args, None, None)[:3]
        if text is None:
            return str(what)
        if index is None or index < 0:
            return f"{what}\n{text}"
        mark = f"\n{' ' * index}^" if index < len(text) else ""
        return f"{what} near index {index}\n{text}{mark}"
