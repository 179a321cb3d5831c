"""Suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_NAME = 1000
"""Longer names get no suggestion: the comparison takes quadratic time and memory."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ", did you mean ...?" with the most similar known name; an empty string if none is similar."""
    import difflib  # imported late: only needed for errors

    near = [] if len(name) > LONGEST_NAME else difflib.get_close_matches(name, list(known), n=1)
    return "".join(f", did you mean {each!r}?" for each in near)
