"""Java's regular expressions as compiled Python ones."""

from __future__ import annotations

import functools
import re

from hearth_api.pattern.error import PatternError
from hearth_api.pattern.syntax import translate


@functools.lru_cache(maxsize=1024)
def compile_pattern(text: str) -> re.Pattern[str]:
    """Return a Java regular expression, such as a `regex` setting, as a Python pattern.

    Groups keep their numbers and names; `\\d`, `\\w`, `\\b` and `(?i)` mean ASCII, as in Java. Java's
    `matches` is `fullmatch` here, its `find` is `search`. Raises `PatternError` with Java's message;
    also for what Python cannot do: look-behind of varying length, scripts and blocks in `\\p{}`, `\\X` and
    the flag U. Before Python 3.11 a possessive quantifier or an atomic group takes a group of its own, so
    `compile_replacement` alone knows the numbers of the others there. A pure function, callable from any
    thread; results are cached.
    """
    try:
        return re.compile(translate(text), re.ASCII)
    except (re.error, OverflowError) as error:
        raise PatternError(f"Pattern is not supported, {error}", text) from error
