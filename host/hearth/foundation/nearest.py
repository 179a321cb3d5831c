"""Names that resemble one that nobody knows."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_NAME = 1000
"""A name that is longer resembles none: comparing takes time and memory by its square."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence that asks whether another name was meant; nothing where none resembles it."""
    import difflib  # which is needed when something is amiss only

    near = [] if len(name) > LONGEST_NAME else difflib.get_close_matches(name, list(known), n=1)
    return "".join(f", did you mean {each!r}?" for each in near)
