"""Secret text that is never shown."""

from __future__ import annotations

HIDDEN = "[hidden]"


class Password:
    """Wraps a secret so that printing, logging and REST show `[hidden]`; follows Kafka's `Password`.

    Equal to another `Password` of the same text; pickles with its secret.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Store the secret."""
        self._text = text

    @property
    def value(self) -> str:
        """Return the secret itself; read it only where it is used."""
        return self._text

    def __str__(self) -> str:
        """Return `[hidden]`."""
        return HIDDEN

    def __repr__(self) -> str:
        """Return the same text for every secret, so that printed containers do not leak it."""
        return f"Password({HIDDEN})"

    def __eq__(self, other: object) -> bool:
        """Compare the secrets."""
        return isinstance(other, Password) and other._text == self._text

    def __hash__(self) -> int:
        """Hash the secret."""
        return hash(self._text)
